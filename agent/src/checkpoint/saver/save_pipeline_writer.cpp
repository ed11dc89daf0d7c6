// The functions of SavePipeline that the writer thread calls.
#include <algorithm>
#include <utility>

#include "agent/src/checkpoint/saver/save_pipeline.h"
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

// A process that was suspended for longer than a lease may commit although another job has taken over the
// folder or store. Check right before the commit that this job still owns it, so that it writes no manifest
// beside those of a new owner. The caller checks again after the commit, because the process may be suspended
// between the first check and the commit.
Result<std::optional<InventoryEntry>> commit_if_owned(const Disk& disk, const RunStore& store,
                                                      const StagedPack& pack,
                                                      std::vector<PackRecord>& receipts,
                                                      const std::function<Result<void>()>& confirm) {
  const auto are_there =
      confirm ? read_receipts(disk, pack.id, pack.world_size, receipts) : Result<bool>(false);
  if (are_there && *are_there)
    if (const auto confirmed = confirm(); !confirmed) return confirmed.error();
  return store.try_commit(pack.id, pack.world_size, receipts);
}

}  // namespace

bool SavePipeline::work_once() {
  Lock lock(mutex_);
  // Commit written packs before writing another: a restart can resume only from a committed checkpoint.
  return advance_commits(lock) || write_one(lock) || write_directly(lock) || look_for_votes(lock) ||
         prepare_one(lock);
}

bool SavePipeline::wait_for_work(Duration at_most) {
  Lock lock(mutex_);
  if (!is_stopping_) changed_.wait_for(lock, waitable(at_most));
  return !is_stopping_;
}

template <class Work>
auto SavePipeline::without_lock(Lock& lock, const Work& work) {
  const Unlocked away(*this, lock);
  return work();
}

bool SavePipeline::write_one(Lock& lock) {
  if (!is_stopping_ && resources_.clock->now() < write_not_before_) return false;
  const auto number = table_.begin_writing();
  if (!number) return write_while_filling(lock);
  Slot& slot = slots_[*number];
  const StagedPack pack = table_[*number].pack;
  const auto written = without_lock(lock, [&] {
    return write_staged_pack(*resources_.disk, pack.id, pack.rank, slot.layout,
                             slot.slab.image().first(pack.image_bytes), resources_.mark,
                             slot.is_leftover || slot.tries > 0 ? Tried::kBefore : Tried::kNever,
                             *slot.filling, pack.run);
  });
  note_outcome(lock, *number, pack, written);
  return true;
}

// If no slot holds a complete copy, the next pack to write is the one that the training thread is copying
// now. The first bytes of a pack can go to the disk while its last bytes are copied. This pack is written
// while it is copied: the writer has begun before the training thread marks the slot as complete.
bool SavePipeline::write_while_filling(Lock& lock) {
  const auto at = std::ranges::find_if(slots_, [](const Slot& slot) { return slot.coming.has_value(); });
  if (at == slots_.end()) return false;
  // The training thread may add slots now: references to slots stay valid, iterators do not.
  const auto number = static_cast<std::size_t>(at - slots_.begin());
  Slot& slot = *at;
  const StagedPack pack = *slot.coming;
  const auto filling = slot.filling;
  slot.coming.reset();
  slot.is_read = true;
  bool is_staged = false;
  const auto written = without_lock(lock, [&] {
    auto result = write_staged_pack(*resources_.disk, pack.id, pack.rank, slot.layout,
                                    slot.slab.image().first(pack.image_bytes), resources_.mark, Tried::kNever,
                                    *filling, pack.run);
    is_staged = filling->wait_until_complete();
    return result;
  });
  slot.is_read = false;
  if (is_staged) note_outcome(lock, number, pack, written);
  return true;
}

void SavePipeline::note_outcome(Lock& lock, std::size_t number, const StagedPack& pack,
                                const Result<WrittenPack>& written) {
  Slot& slot = slots_[number];
  if (!written) {
    const bool is_missed = !note_failed_write(number, written.error());
    const std::uint32_t refusals = slot.tries;
    if (written.error().kind() == ErrorKind::kNoSpace) make_room(lock, pack, refusals, is_missed);
    return;
  }
  if (!slot.is_leftover && stale_save_check_.is_stale(pack.id.step, slot.layout, written->hashes)) {
    ++progress_.stale;
    progress_.events.push_back(
        "the save of " + text_of(pack.id) +
        " has the same bytes as the save before it, but earlier saves changed: does the "
        "program save a copy that it no longer updates?");
  }
  note_written(pack, slot.ticket, slot.is_leftover);
  release(number);
}

bool SavePipeline::write_directly(Lock& lock) {
  const auto direct = direct_;
  if (!direct || direct->outcome) return false;
  const StagedPack& pack = direct->pack;
  auto written = without_lock(lock, [&] {
    return write_unvoted_pack(*resources_.disk, pack.id, pack.rank, direct->tensors, resources_.mark,
                              options_.owner);
  });
  if (direct_ != direct) return true;  // the trainer no longer waits; the tensors may have changed
  if (written) written->run = pack.run;
  auto outcome = !written ? Result<void>(written.error()) : without_lock(lock, [&] {
    return vote(*resources_.disk, pack.id, *written, resources_.mark);
  });
  // A save without a slot is not tried again. Free as much disk space as possible for the next save.
  if (!outcome && outcome.error().kind() == ErrorKind::kNoSpace) make_room(lock, pack, kTriesMax, true);
  direct->outcome = std::move(outcome);
  return true;
}

// When a checkpoint is committed, the process stops waiting for the commits of all older checkpoints. A rank
// that commits goes through the checkpoints from the oldest to the newest and skips checkpoints that can
// never be complete. A rank that does not commit looks for the newest checkpoint first, because older
// checkpoints may have been removed since its last check.
bool SavePipeline::advance_commits(Lock& lock) {
  if (watched_.empty() || (!is_stopping_ && resources_.clock->now() < commit_not_before_)) return false;
  const bool is_in_order = watched_.front().commits;
  bool are_older_settled = false;
  for (std::size_t k = 0; k < watched_.size();) {
    const std::size_t i = is_in_order ? k : watched_.size() - 1 - k;
    const StagedPack pack = watched_[i].pack;
    const bool commits = watched_[i].commits;
    const auto receipts = watched_[i].receipts;
    // Every rank writes its packs in the order of their checkpoints. When all ranks have written their packs
    // of this checkpoint, no rank writes a receipt of an older checkpoint any longer. A receipt for an older
    // checkpoint may have been written since its commit was tried, so that commit is tried again first.
    if (commits && i > 0 && !are_older_settled && has_all_votes(lock, pack, *receipts)) {
      are_older_settled = true;
      k = 0;
      continue;
    }
    if (i >= watched_.size() || watched_[i].pack.id != pack.id) return true;  // an attempt began meanwhile
    const bool is_of_now = world_ && world_->attempt == pack.id.attempt;
    const auto before_commit = is_of_now && commits ? world_->before_commit : nullptr;
    const auto confirm = world_ ? world_->confirm_place : nullptr;
    const auto find_copy = is_of_now && !commits ? world_->find_copy : nullptr;
    auto committed = without_lock(lock, [&] {
      if (before_commit) before_commit();
      if (commits) return commit_if_owned(*resources_.disk, resources_.store, pack, *receipts, confirm);
      auto found = resources_.store.find(pack.id);
      // If this rank's own receipt no longer exists, the checkpoint was committed and has been removed since
      // then, or a later attempt removed its files.
      const bool is_elsewhere =
          find_copy && found && !*found && is_gone(*resources_.disk, receipt_path(pack.id, pack.rank));
      return is_elsewhere ? find_copy(pack.id) : found;
    });
    if (committed && *committed && confirm) {
      const auto confirmed = without_lock(lock, confirm);
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
    ++k;
  }
  return false;
}

// Ignores errors, because the commit of the checkpoint would return the same error again.
bool SavePipeline::has_all_votes(Lock& lock, const StagedPack& pack, std::vector<PackRecord>& receipts) {
  const auto found =
      without_lock(lock, [&] { return read_receipts(*resources_.disk, pack.id, pack.world_size, receipts); });
  return found && *found;
}

// Older checkpoints are checked after the commit of `id` was seen, because a rank that does not commit looks
// for the newest checkpoint first.
std::set<CheckpointId> SavePipeline::committed_before(Lock& lock, const CheckpointId& id) {
  std::vector<CheckpointId> older;
  for (const Watched& one : watched_)
    if (one.pack.id < id) older.push_back(one.pack.id);
  std::set<CheckpointId> found;
  if (older.empty()) return found;
  return without_lock(lock, [&] {
    for (const CheckpointId& one : older)
      if (const auto entry = resources_.store.find(one); entry && *entry) found.insert(one);
    return found;
  });
}

bool SavePipeline::look_for_votes(Lock& lock) {
  if (!std::exchange(is_asked_for_votes_, false) || watched_.empty()) return false;
  const StagedPack pack = watched_.back().pack;
  auto votes = without_lock(lock, [&] { return count_votes(*resources_.disk, pack.id, pack.world_size); });
  if (votes) progress_.votes = *std::move(votes);
  return true;
}

void SavePipeline::release(std::size_t slot) {
  table_.release(slot);
  slots_[slot].slab.write_info(table_[slot]);
}

void SavePipeline::note_written(const StagedPack& pack, const SavePromise& ticket, bool is_leftover) {
  ticket.reach(SaveLevel::kWritten);
  const bool commits = pack.rank.value() == 0 || is_leftover;
  const bool is_of_now = world_ && world_->attempt == pack.id.attempt;
  if (!is_of_now && world_) return ticket.fail({ErrorKind::kCancelled, "another attempt has begun"});
  if (!commits) progress_.missed_in_a_row = 0;
  watched_.push_back({.pack = pack, .ticket = ticket, .commits = commits});
}

bool SavePipeline::note_failed_write(std::size_t number, const Error& why) {
  Slot& slot = slots_[number];
  const StagedPack pack = table_[number].pack;
  ++slot.tries;
  const bool has_newer = table_.count(SlotState::kStaged) > 0;
  if (!is_stopping_ && is_tried_again(slot.tries, has_newer)) {
    progress_.events.push_back("the pack of " + text_of(pack.id) +
                               " could not be written and is tried again: " + why.message());
    progress_.last_error = why.message();
    table_.put_back(number);
    write_not_before_ = resources_.clock->now() + options_.pause;
    return true;
  }
  note_missed(pack, slot.ticket, why);
  // If the writer is stopping, the slot keeps the pack, and the next process writes it.
  if (!is_stopping_) release(number);
  return false;
}

void SavePipeline::give_up_waiting(const StagedPack& for_pack) {
  std::vector<Watched> given_up;
  std::erase_if(watched_, [&](const Watched& one) {
    const bool goes = one.pack.id.attempt == for_pack.id.attempt && one.pack.id < for_pack.id;
    if (goes) given_up.push_back(one);
    return goes;
  });
  for (const Watched& one : given_up)
    note_missed(one.pack, one.ticket,
                {ErrorKind::kNoSpace,
                 "other ranks have not written their packs; this save is abandoned to free space for the "
                 "checkpoint of " +
                     text_of(for_pack.id)});
}

void SavePipeline::make_room(Lock& lock, const StagedPack& pack, std::uint32_t refusals, bool is_missed) {
  // If the writer is stopping, remove no files: the next process may use them.
  if (is_stopping_ || !world_ || world_->attempt != pack.id.attempt) return;
  const auto may_clean_up = world_->may_clean_up;
  const bool gives_up = pack.rank.value() == 0 && refusals > 1;
  if (gives_up) give_up_waiting(pack);
  const CheckpointId before = gives_up ? pack.id : CheckpointId{.attempt = pack.id.attempt, .step = Step(0)};
  const auto made = without_lock(lock, [&]() -> Result<void> {
    if (may_clean_up && !may_clean_up()) return {};
    auto swept = sweep_uncommitted(*resources_.disk, before);
    const bool has_no_vote = is_missed && is_gone(*resources_.disk, receipt_path(pack.id, pack.rank));
    return swept && has_no_vote ? remove_unvoted(*resources_.disk, pack.id) : swept;
  });
  if (!made) progress_.events.push_back("no disk space was freed: " + made.error().message());
}

void SavePipeline::note_failed_commit(const CheckpointId& id, const Error& why) {
  const auto at = std::ranges::find(watched_, id, [](const Watched& one) { return one.pack.id; });
  if (at == watched_.end()) return;
  ++at->tries;
  const bool has_newer = at + 1 != watched_.end();
  if (!is_stopping_ && is_tried_again(at->tries, has_newer)) {
    progress_.events.push_back("the checkpoint of " + text_of(id) +
                               " could not be committed and is tried again: " + why.message());
    commit_not_before_ = resources_.clock->now() + options_.pause;
    return;
  }
  const Watched lost = *at;
  watched_.erase(at);
  note_missed(lost.pack, lost.ticket, why);
  if (lost.commits || has_newer) return;
  // This rank does not commit, and it cannot see the newest commit. Report the older saves as failed, too:
  // rank 0 may have removed their checkpoints as old, so that this rank would wait for them forever.
  for (const Watched& one : watched_) one.ticket.fail(why);
  watched_.clear();
}

void SavePipeline::reach_commit(const CheckpointId& id, const SavePromise& ticket) const {
  ticket.reach(SaveLevel::kCommitted);
  if (!world_ || !world_->await_stores) return ticket.reach(SaveLevel::kStored);
  world_->await_stores(id, ticket);
}

void SavePipeline::note_committed(const CheckpointId& id, const InventoryEntry& entry,
                                  const std::set<CheckpointId>& before) {
  std::erase_if(watched_, [&](const Watched& one) {
    if (one.pack.id > id) return false;
    if (one.pack.id == id || before.contains(one.pack.id))
      reach_commit(one.pack.id, one.ticket);
    else
      one.ticket.fail({ErrorKind::kCancelled,
                       "the checkpoint of " + text_of(id) + " is committed, but the checkpoint of " +
                           text_of(one.pack.id) + " does not exist: it was skipped or removed"});
    return true;
  });
  if (!world_ || world_->attempt != id.attempt) return;
  progress_.committed = entry;
  committed_at_ = resources_.clock->now();
}

void SavePipeline::tell_commit(Lock& lock, const InventoryEntry& entry) {
  if (!world_ || world_->attempt != entry.attempt || !world_->on_commit) return;
  // The callback may update a link in the run's folder, so its time is measured like that of a disk call.
  without_lock(lock, [&watch = *resources_.watch, told = world_->on_commit, &entry] {
    return watch([&] {
      told(entry);
      return true;
    });
  });
}

std::optional<InventoryEntry> SavePipeline::committed_before_it(const CheckpointId& id) const {
  const auto found = resources_.store.inventory();
  if (!found) return std::nullopt;
  const auto at =
      std::ranges::find_if(found->complete, [&](const InventoryEntry& one) { return id_of(one) < id; });
  return at == found->complete.end() ? std::nullopt : std::optional(*at);
}

void SavePipeline::retire(Lock& lock) {
  if (!world_) return;
  const SavingWorld world = *world_;
  const auto newest = progress_.committed;
  std::optional<InventoryEntry> before;
  bool is_bad = false;
  const auto retired = without_lock(lock, [&]() -> Result<void> {
    if (world.may_clean_up && !world.may_clean_up()) return {};
    auto done = resources_.store.retire_old(world.rules, world.attempt,
                                            world.copies ? world.copies() : Copies(), world.read_back);
    const auto tell = [&] {
      world.on_retired();
      return true;
    };
    if (world.on_retired) (*resources_.watch)(tell);
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
  // The newest checkpoint could not be read back: it must no longer be reported as durable.
  ++progress_.missed;
  ++progress_.missed_in_a_row;
  progress_.is_newest_lost = newest_saved_ == id_of(*progress_.committed);
  progress_.last_error = retired.error().message();
  auto& damaged = progress_.damaged;
  damaged.push_back(*std::exchange(progress_.committed, before));
  damaged.back().is_complete = false;
  if (damaged.size() > kDamagedMax) damaged.erase(damaged.begin());
}

void SavePipeline::note_missed(const StagedPack& pack, const SavePromise& ticket, const Error& why) {
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
