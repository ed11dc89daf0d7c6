#include "agent/src/data/loader/batch_prefetcher.h"

#include <algorithm>

#include <ratoon/failure.h>

namespace ratoon::data {
namespace {

// Before the thread waits for work, releases the files that the sample uses. A cache cannot evict files in
// use, so a small cache would have no space for other files during a long wait.
void release_sample_files(Sample& sample) noexcept {
  try {
    sample.begin(sample.id());
  } catch (...) {  // the files are released all the same; the next sample allocates its memory later
    return;
  }
}

}  // namespace

BatchPrefetcher::BatchPrefetcher(LoaderInput reading, PrefetchDepth depth)
    : loader_input_(std::move(reading)),
      depth_(depth),
      body_pool_(std::make_shared<BatchBodyPool>(depth.batches_read + 2)),
      expected_shapes_(loader_input_.columns) {
  try {
    for (std::size_t i = 0; i < depth_.threads; ++i) threads_.emplace_back([this] { run_worker(); });
  } catch (...) {
    stop();
    for (std::thread& thread : threads_) thread.join();
    throw;
  }
}

BatchPrefetcher::~BatchPrefetcher() {
  stop();
  for (std::thread& thread : threads_) thread.join();
}

void BatchPrefetcher::stop() noexcept {
  std::shared_ptr<LoaderPlan> loader_plan;
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
    loader_plan = loader_plan_;
  }
  task_available_.notify_all();
  batch_ready_.notify_all();
  if (loader_plan != nullptr) loader_plan->stop.request_stop();
}

void BatchPrefetcher::set_loader_plan(std::shared_ptr<LoaderPlan> loader_plan, std::uint64_t first) {
  std::deque<std::shared_ptr<RingCell>> ring;
  while (ring.size() < std::max(depth_.batches_read, depth_.batches_planned))
    ring.push_back(make_ring_cell(loader_plan, first + ring.size()));
  MutexLock lock(mutex_);
  const std::shared_ptr<LoaderPlan> left = std::move(loader_plan_);
  const std::deque<std::shared_ptr<RingCell>> dropped = std::move(ring_);
  ring_.clear();
  lock.unlock();
  if (left != nullptr) left->stop.request_stop();
  // Withdraws the hints of dropped batches before batches of the new loader plan send hints, so that data
  // sets do not fetch samples of dropped batches first.
  for (const auto& cell : dropped) cell->batch_maker->withdraw_read_hints();
  lock.lock();
  loader_plan_ = std::move(loader_plan);
  next_batch_index_ = first + ring.size();
  ring_ = std::move(ring);
  is_planning_ = false;
  batches_planned_ = 0;
  batches_made_ = 0;
  if (is_stopped_) loader_plan_->stop.request_stop();
  lock.unlock();
  task_available_.notify_all();
}

// run_worker() must not throw, because an exception in a worker thread would end the process. It therefore
// allocates no cell of the ring, and a cell's BatchMaker stores each exception for the caller of take().
void BatchPrefetcher::run_worker() {
  Sample sample;
  MutexLock lock(mutex_);
  while (!is_stopped_) {
    if (auto task = claim_task()) {
      run_task(*std::move(task), sample);
    } else {
      task_available_.wait(lock);
    }
  }
}

// A thread reads an earlier batch before it plans a later one, so that planning does not delay a batch that
// take() waits for. After each finished batch, two more batches are planned, until all batches in the ring
// are planned.
std::optional<BatchPrefetcher::Task> BatchPrefetcher::claim_task() {
  if (loader_plan_ == nullptr) return std::nullopt;
  if (batches_planned_ < 2 * batches_made_ + 1) {
    if (auto plan = claim_plan_task(ring_.size())) return plan;
  }
  if (auto piece = claim_piece_task()) return piece;
  return claim_plan_task(depth_.threads == 0 ? 1 : ring_.size());
}

std::shared_ptr<BatchPrefetcher::RingCell> BatchPrefetcher::make_ring_cell(
    const std::shared_ptr<LoaderPlan>& loader_plan, std::uint64_t index) {
  return std::make_shared<RingCell>(
      std::make_unique<BatchMaker>(loader_input_, expected_shapes_, *body_pool_, loader_plan, index));
}

std::optional<BatchPrefetcher::Task> BatchPrefetcher::claim_piece_task() {
  for (std::size_t i = 0; i < std::min(depth_.batches_read, ring_.size()); ++i) {
    RingCell& cell = *ring_[i];
    if (cell.state == State::kPlanned && cell.next_piece < cell.batch_maker->piece_count())
      return Task{ring_[i], cell.next_piece++};
  }
  return std::nullopt;
}

std::optional<BatchPrefetcher::Task> BatchPrefetcher::claim_plan_task(std::size_t cells) {
  if (is_planning_) return std::nullopt;
  const auto end = ring_.begin() + static_cast<std::ptrdiff_t>(cells);
  const auto found =
      std::find_if(ring_.begin(), end, [](const auto& cell) { return cell->state == State::kNew; });
  if (found == end) return std::nullopt;
  is_planning_ = true;
  (*found)->state = State::kPlanning;
  return Task{*found, std::nullopt};
}

// Nothing throws while mutex_ is unlocked here and in finish_batch(), so the caller's MutexLock stays right.
void BatchPrefetcher::run_task(Task task, Sample& sample) {
  RingCell& cell = *task.cell;
  mutex_.unlock();
  if (task.piece) {
    cell.batch_maker->make(*task.piece, sample);
    release_sample_files(sample);
  } else {
    cell.batch_maker->plan();
  }
  mutex_.lock();
  if (!is_still_needed(cell)) return;
  if (task.piece) {
    ++cell.finished_piece_count;
  } else {
    is_planning_ = false;
    ++batches_planned_;
    cell.state = State::kPlanned;
    task_available_.notify_all();
  }
  if (cell.finished_piece_count == cell.batch_maker->piece_count()) finish_batch(cell);
}

void BatchPrefetcher::finish_batch(RingCell& cell) {
  mutex_.unlock();
  std::exception_ptr failure = cell.batch_maker->finish();
  mutex_.lock();
  if (!is_still_needed(cell)) return;
  cell.failure = std::move(failure);
  cell.state = State::kMade;
  ++batches_made_;
  if (ring_.front().get() == &cell) batch_ready_.notify_all();
}

// Makes the first batch of the ring in the thread that calls take(), if the loader has no threads.
void BatchPrefetcher::make_first_batch() {
  while (!is_stopped_ && (ring_.empty() || ring_.front()->state != State::kMade)) {
    auto task = claim_task();
    run_task(*std::move(task), caller_sample_);
  }
}

Batch BatchPrefetcher::take() {
  MutexLock lock(mutex_);
  if (threads_.empty()) {
    make_first_batch();
  } else {
    batch_ready_.wait(lock, [this]() RATOON_REQUIRES(mutex_) {
      return is_stopped_ || (!ring_.empty() && ring_.front()->state == State::kMade);
    });
  }
  if (is_stopped_) throw Interrupted("the data loader was stopped");
  const std::shared_ptr<RingCell> head = ring_.front();
  if (head->failure != nullptr) {
    // Put a new cell at the front of the ring, so that the failed batch is made again before any later batch.
    ring_.front() = make_ring_cell(loader_plan_, head->batch_maker->index());
    ring_.front()->batch_maker->take_over_read_hints(*head->batch_maker);
    --batches_planned_;
    --batches_made_;
    task_available_.notify_all();
    const std::exception_ptr failure = head->failure;
    lock.unlock();
    std::rethrow_exception(failure);
  }
  ring_.push_back(make_ring_cell(loader_plan_, next_batch_index_));  // may throw, and then no batch was taken
  ++next_batch_index_;
  ring_.pop_front();
  task_available_.notify_all();
  lock.unlock();
  return Batch(head->batch_maker->take());
}

}  // namespace ratoon::data
