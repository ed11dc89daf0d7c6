// The functions of SavePipeline that the training thread calls: a save through a slot, or directly from the
// memory of the tensors.
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

#include "agent/src/checkpoint/saver/save_pipeline.h"
#include "agent/src/checkpoint/staging/copy.h"

namespace ratoon::checkpoint {
namespace {

constexpr auto kLookForWriter = std::chrono::milliseconds(10);  // while we wait for the writer
constexpr int kCopiesMax = 3;

// The destructor of this object ends every wait for the copy, also if an exception was thrown.
struct CancelAtEnd {
  const std::shared_ptr<CopyProgress>& filling;
  ~CancelAtEnd() { filling->cancel(); }
};

}  // namespace

Result<SavePromise> SavePipeline::save(Step step, std::span<const TensorView> tensors,
                                       const std::optional<RunRecord>& run, const SavePromise& ticket) {
  {
    const std::lock_guard lock(mutex_);
    if (world_) newest_saved_ = CheckpointId{.attempt = world_->attempt, .step = step};
    progress_.is_newest_lost = false;
  }
  auto saved = save_or_report(step, tensors, run, ticket);
  if (saved) return saved;
  const std::lock_guard lock(mutex_);
  note_missed({.id = {.attempt = world_ ? world_->attempt : Attempt(0), .step = step}}, ticket,
              saved.error());
  return saved;
}

Result<SavePromise> SavePipeline::save_or_report(Step step, std::span<const TensorView> tensors,
                                                 const std::optional<RunRecord>& run,
                                                 const SavePromise& ticket) {
  const auto plan = lay_out_image(tensors, options_.owner);
  if (!plan) return plan.error();
  Lock lock(mutex_);
  if (!world_)
    return Error(ErrorKind::kInvalid, "save() was called before begin_attempt(); call begin_attempt() first");
  const StagedPack pack{.id = {.attempt = world_->attempt, .step = step},
                        .rank = world_->rank,
                        .world_size = world_->world_size,
                        .image_bytes = plan->layout.file_bytes(),
                        .run = run};
  prepared_bytes_ = std::max(prepared_bytes_, pack.image_bytes);
  auto number = take_slot(lock, pack.image_bytes);
  if (!number) return number.error();
  if (!*number) {
    if (auto saved = save_directly(lock, pack, tensors); !saved) return saved.error();
    note_written(pack, ticket, false);
    return ticket;
  }
  if (auto staged = stage(lock, **number, pack, *plan, tensors, ticket); !staged) return staged.error();
  return ticket;
}

Result<void> SavePipeline::stage(Lock& lock, std::size_t number, const StagedPack& pack,
                                 const PackImage& plan, std::span<const TensorView> tensors,
                                 const SavePromise& ticket) {
  Slot& slot = slots_[number];
  const CancelAtEnd cancel{slot.filling};
  Result<void> filled;
  std::exception_ptr thrown;  // out of memory
  try {
    slot.layout = plan.layout;
    slot.ticket = ticket;
    slot.tries = 0;
    slot.is_leftover = false;
    slot.filling = std::make_shared<CopyProgress>();
    if (options_.has_thread && pack.image_bytes >= options_.early_bytes_min) slot.coming = pack;
    slot.slab.write_info(table_[number]);
    changed_.notify_all();
    lock.unlock();
    filled = fill(slot, plan, tensors);
    lock.lock();
    if (filled) table_.stage(number, pack);
  } catch (...) {
    thrown = std::current_exception();
    if (lock.owns_lock()) lock.unlock();
    filled = stop_reading(slot);
    lock.lock();
  }
  slot.coming.reset();
  if (thrown || !filled) {
    if (!slot.is_read) release(number);
    if (thrown) std::rethrow_exception(thrown);
    return filled;
  }
  // The writer may have begun to read this slot during the copy, because no other slot was complete.
  if (slot.is_read && table_.begin_writing() != number)
    throw std::logic_error("the writer reads a slot during its copy, but another staged slot comes first");
  slot.slab.write_info(table_[number]);
  ticket.reach(SaveLevel::kStaged);
  slot.filling->complete();
  changed_.notify_all();
  return {};
}

Result<void> SavePipeline::fill(Slot& slot, const PackImage& plan, std::span<const TensorView> tensors) {
  std::optional<std::string> changed;
  for (int i = 0; i < kCopiesMax; ++i) {
    copy_to_image(plan, tensors, slot.slab.image(), *slot.filling);
    changed = find_changed(plan, tensors, slot.slab.image());
    if (!changed) return {};
    if (auto taken = take_back(slot); !taken) return taken;
  }
  return Error(ErrorKind::kConflict, "tensor '" + *changed +
                                         "' is changed by another thread while it is saved, so the copy "
                                         "is inconsistent; wait for that thread before a step ends");
}

Error SavePipeline::disk_timeout_error() const {
  return {ErrorKind::kTimeout, "the disk does not answer: check " + resources_.disk->shown("")};
}

Result<void> SavePipeline::stop_reading(Slot& slot) {
  Lock lock(mutex_);
  slot.coming.reset();
  slot.filling->cancel();
  while (slot.is_read) {
    if (is_stuck() || must_end_) return disk_timeout_error();
    changed_.wait_for(lock, kLookForWriter);
  }
  return {};
}

Result<void> SavePipeline::take_back(Slot& slot) {
  if (auto stopped = stop_reading(slot); !stopped) return stopped;
  slot.filling = std::make_shared<CopyProgress>();
  return {};
}

Result<void> SavePipeline::save_directly(Lock& lock, const StagedPack& pack,
                                         std::span<const TensorView> tensors) {
  const auto direct = std::make_shared<Direct>(
      Direct{.pack = pack, .tensors = {tensors.begin(), tensors.end()}, .outcome = {}});
  direct_ = direct;
  changed_.notify_all();
  while (!direct->outcome) {
    if (is_stuck() || must_end_) {
      // The writer thread still reads the tensors, which may change when this function returns: it must not
      // write a receipt for this pack.
      direct_.reset();
      must_end_ = true;
      return disk_timeout_error();
    }
    if (options_.has_thread) {
      changed_.wait_for(lock, kLookForWriter);
      continue;
    }
    lock.unlock();
    work_once();
    lock.lock();
  }
  direct_.reset();
  return *direct->outcome;
}

}  // namespace ratoon::checkpoint
