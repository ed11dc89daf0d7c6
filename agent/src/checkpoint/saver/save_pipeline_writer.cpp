// The functions of SavePipeline that the writer thread calls.
#include <algorithm>
#include <utility>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/saver/save_pipeline.h"
#include "base/core/threads/pause.h"

namespace ratoon::checkpoint {
namespace {

std::shared_ptr<const CommittedParts> parts_of(const StagedPack& pack, const PackRecord& record) {
  return std::make_shared<const CommittedParts>(pack.id, record.tensors_in_parts);
}

}  // namespace

bool SavePipeline::do_work_unit() {
  MutexLock lock(mutex_);
  // Commit written packs before writing another pack: a restart can resume only from a committed checkpoint.
  return advance_commits(lock) || write_one_pack(lock) || write_directly(lock) || check_votes(lock) ||
         prepare_one_slot(lock);
}

bool SavePipeline::wait_for_work(Duration at_most) {
  MutexLock lock(mutex_);
  if (!is_stopping_) changed_.wait_for(lock, limit_to_one_year(at_most));
  return !is_stopping_;
}

bool SavePipeline::write_one_pack(MutexLock& lock) {
  if (!is_stopping_ && resources_.clock->now() < write_not_before_) return false;
  const auto number = slot_table_.begin_writing();
  if (!number) return write_while_filling(lock);
  Slot& slot = slots_[*number];
  const StagedPack pack = slot_table_[*number].pack;
  const auto tried = slot.is_leftover || slot.tries > 0 ? EarlierWriteTry::kBefore : EarlierWriteTry::kNever;
  const auto written = without_lock(lock, [&] {
    return write_staged_pack(*resources_.disk, pack.id, pack.rank, slot.layout,
                             slot.slab.image().first(pack.image_bytes), resources_.mark, tried, *slot.filling,
                             pack.run, slot.parts);
  });
  record_write_outcome(lock, *number, pack, written);
  return true;
}

// Writes a pack while the training thread still copies it into a slot: the writer writes the first bytes to
// the disk while the training thread copies the last bytes. Call write_while_filling() only if no slot holds
// a complete copy, because the writer must write a complete copy first. The writer begins before the training
// thread marks the slot as complete.
bool SavePipeline::write_while_filling(MutexLock& lock) {
  const auto at =
      std::ranges::find_if(slots_, [](const Slot& slot) { return slot.pack_being_copied.has_value(); });
  if (at == slots_.end()) return false;
  // Keep a number and a reference, because an added slot makes iterators of slots_ invalid.
  const auto number = static_cast<std::size_t>(at - slots_.begin());
  Slot& slot = *at;
  const StagedPack pack = *slot.pack_being_copied;
  const auto filling = slot.filling;
  slot.pack_being_copied.reset();
  slot.is_read_by_writer = true;
  bool is_staged = false;
  const auto written = without_lock(lock, [&] {
    auto result = write_staged_pack(*resources_.disk, pack.id, pack.rank, slot.layout,
                                    slot.slab.image().first(pack.image_bytes), resources_.mark,
                                    EarlierWriteTry::kNever, *filling, pack.run, slot.parts);
    is_staged = filling->wait_until_complete();
    return result;
  });
  slot.is_read_by_writer = false;
  if (is_staged) record_write_outcome(lock, number, pack, written);
  return true;
}

void SavePipeline::record_write_outcome(MutexLock& lock, std::size_t number, const StagedPack& pack,
                                        const Result<WrittenPack>& written) {
  Slot& slot = slots_[number];
  if (!written) {
    const bool is_missed = !record_failed_write(number, written.error());
    const std::uint32_t tries = slot.tries;
    if (written.error().kind() == ErrorKind::kNoSpace) free_disk_space(lock, pack, tries, is_missed);
    return;
  }
  const bool has_new_parts = !slot.parts.to_write.empty();
  if (!slot.is_leftover && !has_new_parts &&
      stale_save_check_.is_stale(pack.id.step, slot.layout, written->hashes)) {
    ++progress_.stale_saves;
    progress_.events.push_back("the save of " + step_text(pack.id) +
                               " has the same bytes as the save before it, but earlier saves changed: does "
                               "the program save a copy that it no longer updates?");
  }
  record_written_pack(pack, slot.ticket, slot.is_leftover, parts_of(pack, written->record));
  release_slot(number);
}

bool SavePipeline::write_directly(MutexLock& lock) {
  const auto direct = direct_save_;
  if (!direct || direct->outcome) return false;
  const StagedPack& pack = direct->pack;
  auto written = without_lock(lock, [&] {
    return write_unvoted_pack(*resources_.disk, pack.id, pack.rank, direct->tensors, resources_.mark,
                              options_.owner, *direct->known);
  });
  if (direct_save_ != direct) return true;  // the trainer no longer waits; the tensors may have changed
  if (written) written->run = pack.run;
  auto done = !written ? Result<void>(written.error()) : without_lock(lock, [&] {
    return write_receipt(*resources_.disk, pack.id, *written, resources_.mark);
  });
  // The writer tries a direct save only once. Free as much disk space as possible for the next save.
  if (!done && done.error().kind() == ErrorKind::kNoSpace) free_disk_space(lock, pack, kWriteTriesMax, true);
  if (done)
    direct->parts = parts_of(pack, *written);
  else
    forget_parts_after(done.error());
  direct->outcome = std::move(done);
  return true;
}

void SavePipeline::release_slot(std::size_t slot) {
  slot_table_.release(slot);
  slots_[slot].parts = {};
  write_slot_info(slot);
}

void SavePipeline::record_written_pack(const StagedPack& pack, const SavePromise& ticket, bool is_leftover,
                                       std::shared_ptr<const CommittedParts> parts) {
  ticket.reach(SaveLevel::kWritten);
  const bool commits = pack.rank.value() == 0 || is_leftover;
  const bool is_of_now = save_context_ && save_context_->attempt == pack.id.attempt;
  if (!is_of_now && save_context_) return ticket.fail({ErrorKind::kCancelled, "another attempt has begun"});
  if (!commits) progress_.missed_saves_in_a_row = 0;
  pending_commits_.push_back(
      {.pack = pack, .ticket = ticket, .parts = std::move(parts), .is_committer = commits});
}

bool SavePipeline::record_failed_write(std::size_t number, const Error& why) {
  Slot& slot = slots_[number];
  forget_parts_after(why);
  const StagedPack pack = slot_table_[number].pack;
  ++slot.tries;
  const bool has_newer = slot_table_.count(SlotState::kStaged) > 0;
  if (!is_stopping_ && may_retry_write(slot.tries, has_newer)) {
    progress_.events.push_back("the pack of " + step_text(pack.id) +
                               " could not be written and is tried again: " + why.message());
    progress_.last_error = why.message();
    slot_table_.requeue_write(number);
    write_not_before_ = resources_.clock->now() + options_.pause;
    return true;
  }
  record_missed_save(pack, slot.ticket, why);
  // If the writer is stopping, the slot keeps the pack, and the next process writes it.
  if (!is_stopping_) release_slot(number);
  return false;
}

void SavePipeline::give_up_older_saves(const StagedPack& for_pack) {
  std::vector<PendingCommit> given_up;
  std::erase_if(pending_commits_, [&](const PendingCommit& one) {
    const bool goes = one.pack.id.attempt == for_pack.id.attempt && one.pack.id < for_pack.id;
    if (goes) given_up.push_back(one);
    return goes;
  });
  const Error why(ErrorKind::kNoSpace,
                  "other ranks have not written their packs; this save is abandoned to free space for the "
                  "checkpoint of " +
                      step_text(for_pack.id));
  for (const PendingCommit& one : given_up) record_missed_save(one.pack, one.ticket, why);
}

void SavePipeline::free_disk_space(MutexLock& lock, const StagedPack& pack, std::uint32_t tries,
                                   bool is_missed) {
  // If the writer is stopping, remove no files: the next process may use them.
  if (is_stopping_ || !save_context_ || save_context_->attempt != pack.id.attempt) return;
  const auto may_clean_up = save_context_->may_clean_up;
  const bool gives_up = pack.rank.value() == 0 && tries > 1;
  if (gives_up) give_up_older_saves(pack);
  const CheckpointId before = gives_up ? pack.id : CheckpointId{.attempt = pack.id.attempt, .step = Step(0)};
  const auto made = without_lock(lock, [&]() -> Result<void> {
    if (may_clean_up && !may_clean_up()) return {};
    auto swept = sweep_uncommitted(*resources_.disk, before);
    const bool has_no_vote = is_missed && is_file_missing(*resources_.disk, receipt_path(pack.id, pack.rank));
    return swept && has_no_vote ? remove_unvoted_files(*resources_.disk, pack.id) : swept;
  });
  if (!made) progress_.events.push_back("no disk space was freed: " + made.error().message());
}

void SavePipeline::record_missed_save(const StagedPack& pack, const SavePromise& ticket, const Error& why) {
  ticket.fail(why);
  progress_.last_error = why.message();
  progress_.events.push_back("the save of " + step_text(pack.id) + " is missed: " + why.message());
  if (!save_context_ || pack.id.attempt != save_context_->attempt) return;
  ++progress_.missed_saves;
  ++progress_.missed_saves_in_a_row;
  if (newest_saved_ == pack.id) progress_.is_newest_save_lost = true;
  changed_.notify_all();
}

}  // namespace ratoon::checkpoint
