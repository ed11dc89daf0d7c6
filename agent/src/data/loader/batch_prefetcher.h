// data/loader/: DataLoader: reads batches ahead on threads and returns them in order.
//
// BatchPrefetcher: a ring buffer of batches. Threads make the batches in order, the oldest first, and take()
// returns them in order.
//
// Data sets receive hints about all batches in the ring; threads read the samples of only the first few
// batches. An idle thread takes the next task, which is to find the slots (stream positions) of a batch or to
// read a piece of a batch. set_loader_plan() empties the ring; results of threads that still work for the old
// plan are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "agent/src/data/loader/batch_body_pool.h"
#include "agent/src/data/loader/batch_maker.h"
#include "agent/src/data/loader/loader_plan.h"
#include "base/core/threads/condition_variable.h"

namespace ratoon::data {

struct PrefetchDepth {
  std::size_t threads = 0;          // 0: take() does the work
  std::size_t batches_read = 1;     // batches that are read ahead
  std::size_t batches_planned = 1;  // batches whose slots are found ahead
};

class BatchPrefetcher {
 public:
  BatchPrefetcher(LoaderInput reading, PrefetchDepth depth);
  ~BatchPrefetcher();

  // After set_loader_plan(), take() returns batch number `first` of `loader_plan`, and then the batches that
  // follow it.
  void set_loader_plan(std::shared_ptr<LoaderPlan> loader_plan, std::uint64_t first);

  // Waits until the next batch is made and returns it. If making the next batch failed, take() rethrows the
  // exception, and the threads make this batch again. Throws Interrupted if stop() was called.
  [[nodiscard]] Batch take();

  void stop() noexcept;

 private:
  enum class State { kNew, kPlanning, kPlanned, kMade };
  struct RingCell {
    explicit RingCell(std::unique_ptr<BatchMaker> batch) : batch_maker(std::move(batch)) {}
    const std::unique_ptr<BatchMaker> batch_maker;
    // The prefetcher's mutex_ guards the following members, which an annotation here cannot express.
    State state = State::kNew;
    std::size_t next_piece = 0;
    std::size_t finished_piece_count = 0;
    std::exception_ptr failure;
  };
  struct Task {
    std::shared_ptr<RingCell> cell;
    std::optional<std::size_t> piece;  // nothing: plan the batch
  };

  [[nodiscard]] std::shared_ptr<RingCell> make_ring_cell(const std::shared_ptr<LoaderPlan>& loader_plan,
                                                         std::uint64_t index);
  void run_worker();
  [[nodiscard]] std::optional<Task> claim_task() RATOON_REQUIRES(mutex_);
  [[nodiscard]] std::optional<Task> claim_piece_task() RATOON_REQUIRES(mutex_);
  [[nodiscard]] std::optional<Task> claim_plan_task(std::size_t cells) RATOON_REQUIRES(mutex_);
  // The following two functions unlock mutex_ while they work on the batch, and lock it again.
  void run_task(Task task, Sample& sample) RATOON_REQUIRES(mutex_);
  void finish_batch(RingCell& cell) RATOON_REQUIRES(mutex_);
  void make_first_batch() RATOON_REQUIRES(mutex_);
  [[nodiscard]] bool is_still_needed(const RingCell& cell) const RATOON_REQUIRES(mutex_) {
    return !is_stopped_ && cell.batch_maker->loader_plan() == loader_plan_;
  }

  const LoaderInput loader_input_;
  const PrefetchDepth depth_;
  const std::shared_ptr<BatchBodyPool> body_pool_;
  ExpectedRowShapes expected_shapes_;
  Sample caller_sample_;  // used by take() if there are no threads

  Mutex mutex_;
  ConditionVariable task_available_;  // signals that there may be a task to claim
  ConditionVariable batch_ready_;     // signals that the first batch may be made
  bool is_stopped_ RATOON_GUARDED_BY(mutex_) = false;
  std::shared_ptr<LoaderPlan> loader_plan_ RATOON_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<RingCell>> ring_ RATOON_GUARDED_BY(mutex_);
  std::uint64_t next_batch_index_ RATOON_GUARDED_BY(mutex_) = 0;  // of the batch after the ring
  bool is_planning_ RATOON_GUARDED_BY(mutex_) = false;  // batches are planned one at a time, in order
  // How many batches of this loader_plan were planned, and how many were made.
  std::uint64_t batches_planned_ RATOON_GUARDED_BY(mutex_) = 0;
  std::uint64_t batches_made_ RATOON_GUARDED_BY(mutex_) = 0;

  std::vector<std::thread> threads_;  // changed only by the constructor and the destructor
};

}  // namespace ratoon::data
