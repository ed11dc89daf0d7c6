// Prefetcher: a ring of batches that threads make, oldest first, and that are taken in order.
//
// The ring holds as many batches as data sets are told to expect; the first few of them are read. Whoever has
// nothing to do takes the next thing that is due: find the slots of a batch, or read a piece of one. A change
// of course throws the ring away; what threads still do for it goes nowhere.
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
#include "agent/src/data/loader/course.h"

namespace ratoon::data {

struct Depth {
  std::size_t threads = 0;  // none: take() does the work
  std::size_t made = 1;     // batches that are read ahead
  std::size_t planned = 1;  // and whose slots are known
};

class Prefetcher {
 public:
  Prefetcher(Reading reading, Depth depth);
  ~Prefetcher();

  // From here on take() gives batch `first` of this course, then the next ones.
  void set_course(std::shared_ptr<Course> course, std::uint64_t first);

  // Waits for the next batch. Throws what failed in it; the batch is made anew then. Throws Interrupted after
  // stop().
  [[nodiscard]] Batch take();

  void stop() noexcept;

 private:
  enum class State { kNew, kPlanning, kPlanned, kMade };
  struct Cell {
    explicit Cell(std::unique_ptr<BatchMaker> batch) : maker(std::move(batch)) {}
    const std::unique_ptr<BatchMaker> maker;
    State state = State::kNew;  // this and what follows: guarded by mutex_
    std::size_t next_piece = 0;
    std::size_t done_pieces = 0;
    std::exception_ptr failure;
  };
  struct Task {
    std::shared_ptr<Cell> cell;
    std::optional<std::size_t> piece;  // none: plan it
  };

  [[nodiscard]] std::shared_ptr<Cell> new_cell(const std::shared_ptr<Course>& course, std::uint64_t index);
  void work();
  [[nodiscard]] std::optional<Task> claim();  // with mutex_ held, as those below
  [[nodiscard]] std::optional<Task> claim_piece();
  [[nodiscard]] std::optional<Task> claim_plan(std::size_t cells);
  void run(Task task, Sample& sample, std::unique_lock<std::mutex>& lock);
  void settle_made(Cell& cell, std::unique_lock<std::mutex>& lock);
  void make_head(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool is_wanted(const Cell& cell) const {
    return !is_stopped_ && cell.maker->course() == course_;
  }

  const Reading reading_;
  const Depth depth_;
  const std::shared_ptr<BodyPool> bodies_;
  ExpectedRows expected_;
  Sample own_sample_;  // of take(), where there are no threads

  std::mutex mutex_;
  std::condition_variable work_;  // there may be something to claim
  std::condition_variable made_;  // the head may be made
  // All that follows: guarded by mutex_.
  bool is_stopped_ = false;
  std::shared_ptr<Course> course_;
  std::deque<std::shared_ptr<Cell>> ring_;
  std::uint64_t next_index_ = 0;  // of the batch behind the ring
  bool is_planning_ = false;      // one at a time, in order
  std::uint64_t planned_ = 0;     // batches of this course
  std::uint64_t batches_made_ = 0;

  std::vector<std::thread> threads_;
};

}  // namespace ratoon::data
