// data/loader/: DataLoader: threads that prefetch batches.
//
// BatchPrefetcher: a ring buffer of batches. Threads make batches oldest first; take() returns them in order.
//
// Data sets receive hints about all batches in the ring; threads read the samples of only the first few
// batches. An idle thread claims the next task: find the slots of a batch, or read a piece of a batch. A new
// LoaderPlan empties the ring; results of threads that still work for the old plan are ignored.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "agent/src/data/loader/batch_maker.h"
#include "agent/src/data/loader/body_pool.h"
#include "agent/src/data/loader/loader_plan.h"

namespace ratoon::data {

struct Depth {
  std::size_t threads = 0;  // 0: take() does the work
  std::size_t made = 1;     // batches that are read ahead
  std::size_t planned = 1;  // batches whose slots are found ahead
};

class BatchPrefetcher {
 public:
  BatchPrefetcher(LoaderInput reading, Depth depth);
  ~BatchPrefetcher();

  // After set_loader_plan(), take() returns batch number `first` of `loader_plan`, then the batches after it.
  void set_loader_plan(std::shared_ptr<LoaderPlan> loader_plan, std::uint64_t first);

  // Waits for the next batch. If the next batch failed, take() rethrows the failure, and the batch is made
  // again. Throws Interrupted after stop().
  [[nodiscard]] Batch take();

  void stop() noexcept;

 private:
  enum class State { kNew, kPlanning, kPlanned, kMade };
  struct Cell {
    explicit Cell(std::unique_ptr<BatchMaker> batch) : maker(std::move(batch)) {}
    const std::unique_ptr<BatchMaker> maker;
    State state = State::kNew;  // this member and the following ones are guarded by mutex_
    std::size_t next_piece = 0;
    std::size_t done_pieces = 0;
    std::exception_ptr failure;
  };
  struct Task {
    std::shared_ptr<Cell> cell;
    std::optional<std::size_t> piece;  // nothing: plan the batch
  };

  [[nodiscard]] std::shared_ptr<Cell> new_cell(const std::shared_ptr<LoaderPlan>& loader_plan,
                                               std::uint64_t index);
  void work();
  [[nodiscard]] std::optional<Task> claim();  // this and the next two need mutex_ locked
  [[nodiscard]] std::optional<Task> claim_piece();
  [[nodiscard]] std::optional<Task> claim_plan(std::size_t cells);
  void run(Task task, Sample& sample, std::unique_lock<std::mutex>& lock);
  void finish_batch(Cell& cell, std::unique_lock<std::mutex>& lock);
  void make_first_batch(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool is_wanted(const Cell& cell) const {
    return !is_stopped_ && cell.maker->loader_plan() == loader_plan_;
  }

  const LoaderInput reading_;
  const Depth depth_;
  const std::shared_ptr<BodyPool> bodies_;
  ExpectedRows expected_;
  Sample own_sample_;  // used by take() if there are no threads

  std::mutex mutex_;
  std::condition_variable work_;  // signals that there may be a task to claim
  std::condition_variable made_;  // signals that the first batch may be made
  // All members below, up to threads_, are guarded by mutex_.
  bool is_stopped_ = false;
  std::shared_ptr<LoaderPlan> loader_plan_;
  std::deque<std::shared_ptr<Cell>> ring_;
  std::uint64_t next_index_ = 0;  // of the batch after the ring
  bool is_planning_ = false;      // batches are planned one at a time, in order
  std::uint64_t planned_ = 0;     // batches of this loader_plan that were planned
  std::uint64_t batches_made_ = 0;

  std::vector<std::thread> threads_;
};

}  // namespace ratoon::data
