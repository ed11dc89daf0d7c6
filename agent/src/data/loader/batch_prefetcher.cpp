#include "agent/src/data/loader/batch_prefetcher.h"

#include <algorithm>

#include <ratoon/failure.h>

namespace ratoon::data {
namespace {

// Releases the files that the sample uses before the thread waits for work: a cache cannot evict files in
// use, so a small cache would have no space for other files during a long wait.
void forget(Sample& sample) noexcept {
  try {
    sample.begin(sample.id());
  } catch (...) {  // the files are released all the same; the next sample allocates its memory later
    return;
  }
}

}  // namespace

BatchPrefetcher::BatchPrefetcher(LoaderInput reading, Depth depth)
    : reading_(std::move(reading)),
      depth_(depth),
      bodies_(std::make_shared<BodyPool>(depth.made + 2)),
      expected_(reading_.columns) {
  try {
    for (std::size_t i = 0; i < depth_.threads; ++i) threads_.emplace_back([this] { work(); });
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
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    loader_plan = loader_plan_;
  }
  work_.notify_all();
  made_.notify_all();
  if (loader_plan != nullptr) loader_plan->stop.request_stop();
}

void BatchPrefetcher::set_loader_plan(std::shared_ptr<LoaderPlan> loader_plan, std::uint64_t first) {
  std::deque<std::shared_ptr<Cell>> ring;
  while (ring.size() < std::max(depth_.made, depth_.planned))
    ring.push_back(new_cell(loader_plan, first + ring.size()));
  std::unique_lock lock(mutex_);
  const std::shared_ptr<LoaderPlan> left = std::move(loader_plan_);
  const std::deque<std::shared_ptr<Cell>> dropped = std::move(ring_);
  ring_.clear();
  lock.unlock();
  if (left != nullptr) left->stop.request_stop();
  // Withdraws the hints of dropped batches before batches of the new loader plan send hints, so that data
  // sets do not fetch samples of dropped batches first.
  for (const auto& cell : dropped) cell->maker->expect_no_more();
  lock.lock();
  loader_plan_ = std::move(loader_plan);
  next_index_ = first + ring.size();
  ring_ = std::move(ring);
  is_planning_ = false;
  planned_ = 0;
  batches_made_ = 0;
  if (is_stopped_) loader_plan_->stop.request_stop();
  lock.unlock();
  work_.notify_all();
}

// This function must not throw, because an exception in a worker thread would end the process. No worker
// thread allocates a cell of the ring, and a cell's BatchMaker keeps an exception until the batch is taken.
void BatchPrefetcher::work() {
  Sample sample;
  std::unique_lock lock(mutex_);
  while (!is_stopped_) {
    if (auto task = claim()) {
      run(*std::move(task), sample, lock);
    } else {
      work_.wait(lock);
    }
  }
}

// Threads read batches before they plan later ones, so that planning does not delay a batch that take()
// waits for. After each finished batch, two more batches are planned, until all batches in the ring are
// planned.
std::optional<BatchPrefetcher::Task> BatchPrefetcher::claim() {
  if (loader_plan_ == nullptr) return std::nullopt;
  if (planned_ < 2 * batches_made_ + 1) {
    if (auto plan = claim_plan(ring_.size())) return plan;
  }
  if (auto piece = claim_piece()) return piece;
  return claim_plan(depth_.threads == 0 ? 1 : ring_.size());
}

std::shared_ptr<BatchPrefetcher::Cell> BatchPrefetcher::new_cell(
    const std::shared_ptr<LoaderPlan>& loader_plan, std::uint64_t index) {
  return std::make_shared<Cell>(
      std::make_unique<BatchMaker>(reading_, expected_, *bodies_, loader_plan, index));
}

std::optional<BatchPrefetcher::Task> BatchPrefetcher::claim_piece() {
  for (std::size_t i = 0; i < std::min(depth_.made, ring_.size()); ++i) {
    Cell& cell = *ring_[i];
    if (cell.state == State::kPlanned && cell.next_piece < cell.maker->pieces())
      return Task{ring_[i], cell.next_piece++};
  }
  return std::nullopt;
}

std::optional<BatchPrefetcher::Task> BatchPrefetcher::claim_plan(std::size_t cells) {
  if (is_planning_) return std::nullopt;
  const auto end = ring_.begin() + static_cast<std::ptrdiff_t>(cells);
  const auto found =
      std::find_if(ring_.begin(), end, [](const auto& cell) { return cell->state == State::kNew; });
  if (found == end) return std::nullopt;
  is_planning_ = true;
  (*found)->state = State::kPlanning;
  return Task{*found, std::nullopt};
}

void BatchPrefetcher::run(Task task, Sample& sample, std::unique_lock<std::mutex>& lock) {
  Cell& cell = *task.cell;
  lock.unlock();
  if (task.piece) {
    cell.maker->make(*task.piece, sample);
    forget(sample);
  } else {
    cell.maker->plan();
  }
  lock.lock();
  if (!is_wanted(cell)) return;
  if (task.piece) {
    ++cell.done_pieces;
  } else {
    is_planning_ = false;
    ++planned_;
    cell.state = State::kPlanned;
    work_.notify_all();
  }
  if (cell.done_pieces == cell.maker->pieces()) finish_batch(cell, lock);
}

void BatchPrefetcher::finish_batch(Cell& cell, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  std::exception_ptr failure = cell.maker->finish();
  lock.lock();
  if (!is_wanted(cell)) return;
  cell.failure = std::move(failure);
  cell.state = State::kMade;
  ++batches_made_;
  if (ring_.front().get() == &cell) made_.notify_all();
}

// Makes the first batch of the ring in the thread that calls take(), if the loader has no threads.
void BatchPrefetcher::make_first_batch(std::unique_lock<std::mutex>& lock) {
  while (!is_stopped_ && (ring_.empty() || ring_.front()->state != State::kMade)) {
    auto task = claim();
    run(*std::move(task), own_sample_, lock);
  }
}

Batch BatchPrefetcher::take() {
  std::unique_lock lock(mutex_);
  if (threads_.empty()) {
    make_first_batch(lock);
  } else {
    made_.wait(lock,
               [this] { return is_stopped_ || (!ring_.empty() && ring_.front()->state == State::kMade); });
  }
  if (is_stopped_) throw Interrupted("the data loader was stopped");
  const std::shared_ptr<Cell> head = ring_.front();
  if (head->failure != nullptr) {
    // Put a new cell at the front of the ring, so that the failed batch is made again before any later batch.
    ring_.front() = new_cell(loader_plan_, head->maker->index());
    ring_.front()->maker->replace(*head->maker);
    --planned_;
    --batches_made_;
    work_.notify_all();
    const std::exception_ptr failure = head->failure;
    lock.unlock();
    std::rethrow_exception(failure);
  }
  ring_.push_back(new_cell(loader_plan_, next_index_));  // may throw, and then no batch was taken
  ++next_index_;
  ring_.pop_front();
  work_.notify_all();
  lock.unlock();
  return Batch(head->maker->take());
}

}  // namespace ratoon::data
