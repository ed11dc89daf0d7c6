// The functions of SavePipeline that the training thread calls: a save through a slot, or directly from the
// memory of the tensors.
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

#include "agent/src/checkpoint/saver/save_pipeline.h"
#include "agent/src/checkpoint/staging/copy_to_image.h"

namespace ratoon::checkpoint {
namespace {

constexpr auto kWriterPollInterval = std::chrono::milliseconds(10);  // while we wait for the writer
constexpr int kCopyTriesMax = 3;

// The destructor of a CancelCopyAtScopeEnd ends every wait for the copy, also if an exception was thrown.
struct CancelCopyAtScopeEnd {
  const std::shared_ptr<CopyProgress>& filling;
  ~CancelCopyAtScopeEnd() { filling->cancel(); }
};

}  // namespace

Result<SavePromise> SavePipeline::save(Step step, std::span<const TensorView> tensors,
                                       const std::optional<RunRecord>& run, const SavePromise& ticket) {
  {
    const MutexLock lock(mutex_);
    if (save_context_) newest_saved_ = CheckpointId{.attempt = save_context_->attempt, .step = step};
    progress_.is_newest_save_lost = false;
  }
  auto saved = save_or_report(step, tensors, run, ticket);
  if (saved) return saved;
  const MutexLock lock(mutex_);
  record_missed_save({.id = {.attempt = save_context_ ? save_context_->attempt : Attempt(0), .step = step}},
                     ticket, saved.error());
  return saved;
}

Result<SavePromise> SavePipeline::save_or_report(Step step, std::span<const TensorView> tensors,
                                                 const std::optional<RunRecord>& run,
                                                 const SavePromise& ticket) {
  std::shared_ptr<const CommittedParts> known;
  {
    const MutexLock lock(mutex_);
    known = known_parts_;
  }
  const SplitState state = split_into_parts(tensors, *known);
  const auto plan = lay_out_image(state.pack_tensors, options_.owner);
  if (!plan) return plan.error();
  MutexLock lock(mutex_);
  if (!save_context_)
    return Error(ErrorKind::kInvalid, "save() was called before begin_attempt(); call begin_attempt() first");
  const StagedPack pack{.id = {.attempt = save_context_->attempt, .step = step},
                        .rank = save_context_->rank,
                        .world_size = save_context_->world_size,
                        .image_bytes = plan->layout.file_bytes(),
                        .run = run};
  const std::uint64_t slot_bytes = pack.image_bytes + state.parts.bytes_to_write();
  prepared_bytes_ = std::max(prepared_bytes_, slot_bytes);
  auto number = take_slot(lock, slot_bytes);
  if (!number) return number.error();
  if (!*number) {
    auto parts = save_directly(lock, pack, tensors, known);
    if (!parts) return parts.error();
    record_written_pack(pack, ticket, false, *std::move(parts));
    return ticket;
  }
  if (auto staged = stage(lock, **number, pack, *plan, state, ticket); !staged) return staged.error();
  return ticket;
}

Result<void> SavePipeline::stage(MutexLock& lock, std::size_t number, const StagedPack& pack,
                                 const PackImageLayout& plan, const SplitState& state,
                                 const SavePromise& ticket) {
  Slot& slot = slots_[number];
  const CancelCopyAtScopeEnd cancel{slot.filling};
  Result<void> filled;
  std::exception_ptr thrown;  // out of memory
  try {
    slot.layout = plan.layout;
    slot.parts = state.parts;
    slot.ticket = ticket;
    slot.tries = 0;
    slot.is_leftover = false;
    slot.filling = std::make_shared<CopyProgress>();
    if (options_.has_writer_thread && pack.image_bytes >= options_.write_while_copying_bytes_min)
      slot.pack_being_copied = pack;
    write_slot_info(number);
    changed_.notify_all();
    {
      const UnlockedScope away(*this, lock);
      filled = fill_slot(slot, plan, state);
    }
    if (filled) slot_table_.stage(number, pack);
  } catch (...) {
    thrown = std::current_exception();
    const UnlockedScope away(*this, lock);
    filled = wait_until_unread(slot);
  }
  slot.pack_being_copied.reset();
  if (thrown || !filled) {
    if (!slot.is_read_by_writer) release_slot(number);
    if (thrown) std::rethrow_exception(thrown);
    return filled;
  }
  // If the writer has begun to read this slot during the copy, this slot must be the next slot in the order
  // of writes.
  if (slot.is_read_by_writer && slot_table_.begin_writing() != number)
    throw std::logic_error("the writer already reads this slot, but another slot must be written first");
  write_slot_info(number);
  ticket.reach(SaveLevel::kStaged);
  slot.filling->complete();
  changed_.notify_all();
  return {};
}

Result<void> SavePipeline::fill_slot(Slot& slot, const PackImageLayout& plan, const SplitState& state) {
  std::optional<std::string> changed;
  const auto rows = slot.slab.image().subspan(plan.layout.file_bytes());
  for (int i = 0; i < kCopyTriesMax; ++i) {
    copy_to_image(plan, state.pack_tensors, slot.slab.image(), *slot.filling);
    copy_rows(state.parts, rows, slot.parts);
    changed = find_changed(plan, state.pack_tensors, slot.slab.image());
    if (!changed) changed = find_changed_rows(state.parts, slot.parts);
    if (!changed) return {};
    if (auto taken = reclaim_slot(slot); !taken) return taken;
  }
  return Error(ErrorKind::kConflict, "tensor '" + *changed +
                                         "' is changed by another thread while it is saved, so the copy "
                                         "is inconsistent; wait for that thread before a step ends");
}

Error SavePipeline::disk_timeout_error() const {
  return {ErrorKind::kTimeout, "the disk does not answer: check " + resources_.disk->shown("")};
}

Result<void> SavePipeline::wait_until_unread(Slot& slot) {
  MutexLock lock(mutex_);
  slot.pack_being_copied.reset();
  slot.filling->cancel();
  while (slot.is_read_by_writer) {
    if (is_stuck() || must_end_) return disk_timeout_error();
    changed_.wait_for(lock, kWriterPollInterval);
  }
  return {};
}

Result<void> SavePipeline::reclaim_slot(Slot& slot) {
  if (auto stopped = wait_until_unread(slot); !stopped) return stopped;
  slot.filling = std::make_shared<CopyProgress>();
  return {};
}

Result<std::shared_ptr<const CommittedParts>> SavePipeline::save_directly(
    MutexLock& lock, const StagedPack& pack, std::span<const TensorView> tensors,
    const std::shared_ptr<const CommittedParts>& known) {
  const auto direct = std::make_shared<DirectSave>(
      DirectSave{.pack = pack, .tensors = {tensors.begin(), tensors.end()}, .known = known, .outcome = {}});
  direct_save_ = direct;
  changed_.notify_all();
  while (!direct->outcome) {
    if (is_stuck() || must_end_) {
      // The writer thread still reads the tensors, and they may change after this function returns. Resetting
      // direct_save_ makes sure that the writer writes no receipt for this pack.
      direct_save_.reset();
      must_end_ = true;
      return disk_timeout_error();
    }
    if (options_.has_writer_thread) {
      changed_.wait_for(lock, kWriterPollInterval);
      continue;
    }
    const UnlockedScope away(*this, lock);
    do_work_unit();
  }
  direct_save_.reset();
  if (!*direct->outcome) return direct->outcome->error();
  return direct->parts;
}

}  // namespace ratoon::checkpoint
