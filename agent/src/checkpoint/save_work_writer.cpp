// The writer's side of SaveWork.
#include <algorithm>
#include <utility>

#include "agent/src/checkpoint/save_work.h"
#include "base/core/pause.h"

namespace ratoon::checkpoint {
namespace {

std::string text_of(const CheckpointId& id) {
  return "step " + std::to_string(id.step.value());
}

bool is_gone(const Disk& disk, const std::string& path) {
  const auto file = disk.open(path);
  return !file && file.error().kind() == ErrorKind::kNotFound;
}

}  // namespace

bool SaveWork::work_once() {
  Lock lock(mutex_);
  // What is written is committed before more is written: the oldest is what a start would resume from.
  return advance_commits(lock) || write_one(lock) || write_directly(lock) || look_for_votes(lock) ||
         prepare_one(lock);
}

bool SaveWork::wait_for_work(Duration at_most) {
  Lock lock(mutex_);
  if (!is_stopping_) changed_.wait_for(lock, waitable(at_most));
  return !is_stopping_;
}

template <class Work>
auto SaveWork::at_the_disk(Lock& lock, const Work& work) {
  const AwayFromTheLock away(*this, lock);
  return work();
}

bool SaveWork::write_one(Lock& lock) {
  if (!is_stopping_ && places_.clock->now() < write_not_before_) return false;
  const auto number = table_.begin_writing();
  if (!number) return write_while_filling(lock);
  Slot& slot = slots_[*number];
  const StagedPack pack = table_[*number].pack;
  const auto written = at_the_disk(lock, [&] {
    return write_staged_pack(*places_.disk, pack.id, pack.rank, slot.layout,
                             slot.slab.image().first(pack.image_bytes), places_.mark,
                             slot.is_legacy || slot.tries > 0 ? Tried::kBefore : Tried::kNever, *slot.filling,
                             pack.run);
  });
  note_outcome(lock, *number, pack, written);
  return true;
}

// Nothing else is staged: what is being copied is the next to be written, and its first bytes may go to the
// disk while its last ones come. When it is staged the trainer finds it being written already.
bool SaveWork::write_while_filling(Lock& lock) {
  const auto at = std::ranges::find_if(slots_, [](const Slot& slot) { return slot.coming.has_value(); });
  if (at == slots_.end()) return false;
  // Slots are added meanwhile, which leaves a slot where it is, and no iterator.
  const auto number = static_cast<std::size_t>(at - slots_.begin());
  Slot& slot = *at;
  const StagedPack pack = *slot.coming;
  const auto filling = slot.filling;
  slot.coming.reset();
  slot.is_read = true;
  bool is_staged = false;
  const auto written = at_the_disk(lock, [&] {
    auto result = write_staged_pack(*places_.disk, pack.id, pack.rank, slot.layout,
                                    slot.slab.image().first(pack.image_bytes), places_.mark, Tried::kNever,
                                    *filling, pack.run);
    is_staged = filling->wait_until_complete();
    return result;
  });
  slot.is_read = false;
  if (is_staged) note_outcome(lock, number, pack, written);
  return true;
}

void SaveWork::note_outcome(Lock& lock, std::size_t number, const StagedPack& pack,
                            const Result<WrittenPack>& written) {
  Slot& slot = slots_[number];
  if (!written) {
    const bool is_missed = !note_failed_write(number, written.error());
    const std::uint32_t refusals = slot.tries;
    if (written.error().kind() == ErrorKind::kNoSpace) make_room(lock, pack, refusals, is_missed);
    return;
  }
  if (!slot.is_legacy && freshness_.is_stale(pack.id.step, slot.layout, written->hashes)) {
    ++progress_.stale;
    progress_.events.push_back("what is saved at " + text_of(pack.id) +
                               " is the same to the last byte as at the save before, and used to change: is "
                               "it a copy that nobody updates?");
  }
  note_written(pack, slot.ticket, slot.is_legacy);
  release(number);
}

bool SaveWork::write_directly(Lock& lock) {
  const auto direct = direct_;
  if (!direct || direct->outcome) return false;
  const StagedPack& pack = direct->pack;
  auto written = at_the_disk(lock, [&] {
    return write_unvoted_pack(*places_.disk, pack.id, pack.rank, direct->tensors, places_.mark,
                              options_.owner);
  });
  if (direct_ != direct) return true;  // nobody waits any more, and the tensors are others by now
  if (written) written->run = pack.run;
  auto outcome =
      !written ? Result<void>(written.error())
               : at_the_disk(lock, [&] { return vote(*places_.disk, pack.id, *written, places_.mark); });
  // Nothing is tried again here, so that the next save finds all the room that there is.
  if (!outcome && outcome.error().kind() == ErrorKind::kNoSpace) make_room(lock, pack, kTriesMax, true);
  direct->outcome = std::move(outcome);
  return true;
}

// A commit ends the wait for all before it: whoever commits does it in order, one that will never be complete
// aside; and who only looks sees the newest first, since those before may have been retired between two
// looks.
bool SaveWork::advance_commits(Lock& lock) {
  if (watched_.empty() || (!is_stopping_ && places_.clock->now() < commit_not_before_)) return false;
  const bool is_in_order = watched_.front().commits;
  for (std::size_t k = 0; k < watched_.size(); ++k) {
    const std::size_t i = is_in_order ? k : watched_.size() - 1 - k;
    const StagedPack pack = watched_[i].pack;
    const bool commits = watched_[i].commits;
    const auto receipts = watched_[i].receipts;
    const bool is_of_now = world_ && world_->attempt == pack.id.attempt;
    const auto before_commit = is_of_now && commits ? world_->before_commit : nullptr;
    const auto confirm = world_ ? world_->confirm_place : nullptr;
    const auto find_copy = is_of_now && !commits ? world_->find_copy : nullptr;
    auto committed = at_the_disk(lock, [&] {
      if (before_commit) before_commit();
      if (commits) return places_.store.try_commit(pack.id, pack.world_size, *receipts);
      auto found = places_.store.find(pack.id);
      // Where our vote is gone, it was committed and has left already, or a later attempt swept it.
      const bool is_elsewhere =
          find_copy && found && !*found && is_gone(*places_.disk, receipt_path(pack.id, pack.rank));
      return is_elsewhere ? find_copy(pack.id) : found;
    });
    if (committed && *committed && confirm) {
      const auto confirmed = at_the_disk(lock, confirm);
      if (!confirmed) committed = confirmed.error();
    }
    if (!committed) {
      note_failed_commit(pack.id, committed.error());
      return true;
    }
    if (*committed) {
      const auto before = committed_before(lock, pack.id);
      note_committed(pack.id, **committed, before);
      tell_commit(lock, **committed);
      if (commits && pack.rank.value() == 0) retire(lock);
      return true;
    }
    if (i >= watched_.size() || watched_[i].pack.id != pack.id) return true;  // an attempt began meanwhile
    watched_[i].is_tried = true;
  }
  return false;
}

// Looked at after the newer one was seen: whoever only looks sees the newest first.
std::set<CheckpointId> SaveWork::committed_before(Lock& lock, const CheckpointId& id) {
  std::vector<CheckpointId> older;
  for (const Watched& one : watched_)
    if (one.pack.id < id) older.push_back(one.pack.id);
  std::set<CheckpointId> found;
  if (older.empty()) return found;
  return at_the_disk(lock, [&] {
    for (const CheckpointId& one : older)
      if (const auto entry = places_.store.find(one); entry && *entry) found.insert(one);
    return found;
  });
}

bool SaveWork::look_for_votes(Lock& lock) {
  if (!std::exchange(is_asked_for_votes_, false) || watched_.empty()) return false;
  const StagedPack pack = watched_.back().pack;
  auto votes = at_the_disk(lock, [&] { return look_at_votes(*places_.disk, pack.id, pack.world_size); });
  if (votes) progress_.votes = *std::move(votes);
  return true;
}

bool SaveWork::prepare_one(Lock& lock) {
  if (is_stopping_ || must_end_ || is_adding_ || prepared_bytes_ == 0) return false;
  std::optional<std::size_t> number;
  for (std::size_t i = 0; i < table_.size() && !number; ++i) {
    if (table_[i].state == SlotState::kFree && slots_[i].room_bytes < prepared_bytes_) number = i;
  }
  RoomFacts facts = room_facts(prepared_bytes_);
  facts.free_slot_bytes = number ? std::optional<std::uint64_t>(slots_[*number].room_bytes) : std::nullopt;
  const Room room = find_room(facts);
  if (room == Room::kNone) tell_of_budget(prepared_bytes_);
  if (room != Room::kTake && room != Room::kAdd) return false;
  if (room == Room::kAdd) {
    const auto added = add_slot(lock);
    if (!added) {
      prepared_bytes_ = 0;
      if (!ends_by(added.error())) progress_.events.push_back(added.error().message());
      return false;
    }
    return true;  // the trainer may have taken it
  }
  table_.begin_filling(*number);
  const auto grown = grow(lock, *number, prepared_bytes_);
  if (!grown) {
    prepared_bytes_ = 0;
    if (!ends_by(grown.error()))
      progress_.events.push_back(grown.error().message() + "; training waits for the disk instead");
    return false;
  }
  release(*number);
  changed_.notify_all();
  return true;
}

void SaveWork::release(std::size_t slot) {
  table_.release(slot);
  slots_[slot].slab.write_info(table_[slot]);
}

void SaveWork::note_written(const StagedPack& pack, const Ticket& ticket, bool is_legacy) {
  ticket.reach(SaveLevel::kWritten);
  const bool commits = pack.rank.value() == 0 || is_legacy;
  const bool is_of_now = world_ && world_->attempt == pack.id.attempt;
  if (!is_of_now && world_) return ticket.fail({ErrorKind::kCancelled, "another attempt has begun"});
  if (!commits) progress_.missed_in_a_row = 0;
  watched_.push_back({.pack = pack, .ticket = ticket, .commits = commits});
}

bool SaveWork::note_failed_write(std::size_t number, const Error& why) {
  Slot& slot = slots_[number];
  const StagedPack pack = table_[number].pack;
  ++slot.tries;
  const bool has_newer = table_.count(SlotState::kStaged) > 0;
  if (!is_stopping_ && is_tried_again(slot.tries, has_newer)) {
    progress_.events.push_back("the pack of " + text_of(pack.id) +
                               " could not be written and is tried again: " + why.message());
    progress_.last_error = why.message();
    table_.put_back(number);
    write_not_before_ = places_.clock->now() + options_.pause;
    return true;
  }
  note_missed(pack, slot.ticket, why);
  // At the end the slot keeps it, for the next process in this place.
  if (!is_stopping_) release(number);
  return false;
}

void SaveWork::give_up_waiting(const StagedPack& for_pack) {
  std::vector<Watched> given_up;
  std::erase_if(watched_, [&](const Watched& one) {
    const bool goes = one.pack.id.attempt == for_pack.id.attempt && one.pack.id < for_pack.id;
    if (goes) given_up.push_back(one);
    return goes;
  });
  for (const Watched& one : given_up)
    note_missed(one.pack, one.ticket,
                {ErrorKind::kNoSpace,
                 "other ranks have not written their part of it, and it makes room for that "
                 "of " +
                     text_of(for_pack.id)});
}

void SaveWork::make_room(Lock& lock, const StagedPack& pack, std::uint32_t refusals, bool is_missed) {
  // At the end what is there is for the next process in this place.
  if (is_stopping_ || !world_ || world_->attempt != pack.id.attempt) return;
  const auto may_clean_up = world_->may_clean_up;
  const bool gives_up = pack.rank.value() == 0 && refusals > 1;
  if (gives_up) give_up_waiting(pack);
  const CheckpointId before = gives_up ? pack.id : CheckpointId{.attempt = pack.id.attempt, .step = Step(0)};
  const auto made = at_the_disk(lock, [&]() -> Result<void> {
    if (may_clean_up && !may_clean_up()) return {};
    auto swept = sweep_uncommitted(*places_.disk, before);
    const bool has_no_vote = is_missed && is_gone(*places_.disk, receipt_path(pack.id, pack.rank));
    return swept && has_no_vote ? remove_unvoted(*places_.disk, pack.id) : swept;
  });
  if (!made) progress_.events.push_back("no room is made for now: " + made.error().message());
}

void SaveWork::note_failed_commit(const CheckpointId& id, const Error& why) {
  const auto at = std::ranges::find(watched_, id, [](const Watched& one) { return one.pack.id; });
  if (at == watched_.end()) return;
  ++at->tries;
  const bool has_newer = at + 1 != watched_.end();
  if (!is_stopping_ && is_tried_again(at->tries, has_newer)) {
    progress_.events.push_back("the checkpoint of " + text_of(id) +
                               " could not be committed, which is tried again: " + why.message());
    commit_not_before_ = places_.clock->now() + options_.pause;
    return;
  }
  const Watched lost = *at;
  watched_.erase(at);
  note_missed(lost.pack, lost.ticket, why);
  if (lost.commits || has_newer) return;
  // This rank only looks, and without the newest one it is not done. Older ones may have been retired by the
  // rank that commits: their names would never come.
  for (const Watched& one : watched_) one.ticket.fail(why);
  watched_.clear();
}

void SaveWork::reach_commit(const CheckpointId& id, const Ticket& ticket) const {
  ticket.reach(SaveLevel::kCommitted);
  if (!world_ || !world_->await_stores) return ticket.reach(SaveLevel::kStored);
  world_->await_stores(id, ticket);
}

void SaveWork::note_committed(const CheckpointId& id, const InventoryEntry& entry,
                              const std::set<CheckpointId>& before) {
  std::erase_if(watched_, [&](const Watched& one) {
    if (one.pack.id > id) return false;
    if (one.pack.id == id || before.contains(one.pack.id))
      reach_commit(one.pack.id, one.ticket);
    else
      one.ticket.fail({ErrorKind::kCancelled, "the checkpoint of " + text_of(id) +
                                                  " is committed and that of " + text_of(one.pack.id) +
                                                  " is not there: it was passed over, or has been retired"});
    return true;
  });
  if (!world_ || world_->attempt != id.attempt) return;
  progress_.committed = entry;
  committed_at_ = places_.clock->now();
}

void SaveWork::tell_commit(Lock& lock, const InventoryEntry& entry) {
  if (!world_ || world_->attempt != entry.attempt || !world_->on_commit) return;
  // It may point a link in the run's folder to it.
  at_the_disk(lock, [&watch = *places_.watch, told = world_->on_commit, &entry] {
    return watch([&] {
      told(entry);
      return true;
    });
  });
}

std::optional<InventoryEntry> SaveWork::committed_before_it(const CheckpointId& id) const {
  const auto found = places_.store.inventory();
  if (!found) return std::nullopt;
  const auto at =
      std::ranges::find_if(found->complete, [&](const InventoryEntry& one) { return id_of(one) < id; });
  return at == found->complete.end() ? std::nullopt : std::optional(*at);
}

void SaveWork::retire(Lock& lock) {
  if (!world_) return;
  const SavingWorld world = *world_;
  const auto newest = progress_.committed;
  std::optional<InventoryEntry> before;
  bool is_bad = false;
  const auto retired = at_the_disk(lock, [&]() -> Result<void> {
    if (world.may_clean_up && !world.may_clean_up()) return {};
    auto done = places_.store.retire_old(world.rules, world.attempt, world.copies ? world.copies() : Copies(),
                                         world.read_back);
    const auto tell = [&] {
      world.on_retired();
      return true;
    };
    if (world.on_retired) (*places_.watch)(tell);
    is_bad = !done && done.error().kind() == ErrorKind::kCorrupted;
    if (!is_bad || !newest) return done;
    before = committed_before_it(id_of(*newest));
    if (world.on_damage) world.on_damage(before);
    return done;
  });
  if (!is_bad) progress_.missed_in_a_row = 0;
  if (retired) return;
  progress_.events.push_back("old checkpoints are kept for now: " + retired.error().message());
  if (!is_bad || !progress_.committed) return;  // an attempt may have begun meanwhile
  // The newest does not read back and was set aside: nobody is to call it durable from now on.
  ++progress_.missed;
  ++progress_.missed_in_a_row;
  progress_.is_newest_lost = newest_saved_ == id_of(*progress_.committed);
  progress_.last_error = retired.error().message();
  auto& damaged = progress_.damaged;
  damaged.push_back(*std::exchange(progress_.committed, before));
  damaged.back().is_complete = false;
  if (damaged.size() > kDamagedMax) damaged.erase(damaged.begin());
}

void SaveWork::note_missed(const StagedPack& pack, const Ticket& ticket, const Error& why) {
  ticket.fail(why);
  progress_.last_error = why.message();
  progress_.events.push_back("the save of " + text_of(pack.id) + " is missed: " + why.message());
  if (!world_ || pack.id.attempt != world_->attempt) return;
  ++progress_.missed;
  ++progress_.missed_in_a_row;
  if (newest_saved_ == pack.id) progress_.is_newest_lost = true;
  changed_.notify_all();
}

}  // namespace ratoon::checkpoint
