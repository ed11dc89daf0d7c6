#include "agent/src/data/loader/prefetcher.h"

#include <algorithm>

#include <ratoon/failure.h>

namespace ratoon::data {
namespace {

// The files that it lies in are let go before the thread waits for work: who knows how long that will be, and
// a file that somebody holds stands in the way of others where a cache is small.
void forget(Sample& sample) noexcept {
  try {
    sample.begin(sample.id());
  } catch (...) {  // the files are gone all the same, and the memory for the next sample is had later
    return;
  }
}

}  // namespace

Prefetcher::Prefetcher(Reading reading, Depth depth)
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

Prefetcher::~Prefetcher() {
  stop();
  for (std::thread& thread : threads_) thread.join();
}

void Prefetcher::stop() noexcept {
  std::shared_ptr<Course> course;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    course = course_;
  }
  work_.notify_all();
  made_.notify_all();
  if (course != nullptr) course->stop.request_stop();
}

void Prefetcher::set_course(std::shared_ptr<Course> course, std::uint64_t first) {
  std::deque<std::shared_ptr<Cell>> ring;
  while (ring.size() < std::max(depth_.made, depth_.planned))
    ring.push_back(new_cell(course, first + ring.size()));
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Course> left = std::move(course_);
  const std::deque<std::shared_ptr<Cell>> dropped = std::move(ring_);
  ring_.clear();
  lock.unlock();
  if (left != nullptr) left->stop.request_stop();
  // Before anybody plans for the new course: what was expected for this one comes first no more.
  for (const auto& cell : dropped) cell->maker->expect_no_more();
  lock.lock();
  course_ = std::move(course);
  next_index_ = first + ring.size();
  ring_ = std::move(ring);
  is_planning_ = false;
  planned_ = 0;
  batches_made_ = 0;
  if (is_stopped_) course_->stop.request_stop();
  lock.unlock();
  work_.notify_all();
}

// Nothing here may throw: there is nobody to catch it. What takes memory is done by the caller, when cells
// are made, or by a cell's maker, which keeps what fails for the caller.
void Prefetcher::work() {
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

// Reading comes first, so that a batch that somebody waits for is not kept waiting by plans for later ones.
// Still, for each batch that was made two are planned, until all that data sets shall expect are.
std::optional<Prefetcher::Task> Prefetcher::claim() {
  if (course_ == nullptr) return std::nullopt;
  if (planned_ < 2 * batches_made_ + 1) {
    if (auto plan = claim_plan(ring_.size())) return plan;
  }
  if (auto piece = claim_piece()) return piece;
  return claim_plan(depth_.threads == 0 ? 1 : ring_.size());
}

std::shared_ptr<Prefetcher::Cell> Prefetcher::new_cell(const std::shared_ptr<Course>& course,
                                                       std::uint64_t index) {
  return std::make_shared<Cell>(std::make_unique<BatchMaker>(reading_, expected_, *bodies_, course, index));
}

std::optional<Prefetcher::Task> Prefetcher::claim_piece() {
  for (std::size_t i = 0; i < std::min(depth_.made, ring_.size()); ++i) {
    Cell& cell = *ring_[i];
    if (cell.state == State::kPlanned && cell.next_piece < cell.maker->pieces())
      return Task{ring_[i], cell.next_piece++};
  }
  return std::nullopt;
}

std::optional<Prefetcher::Task> Prefetcher::claim_plan(std::size_t cells) {
  if (is_planning_) return std::nullopt;
  const auto end = ring_.begin() + static_cast<std::ptrdiff_t>(cells);
  const auto found =
      std::find_if(ring_.begin(), end, [](const auto& cell) { return cell->state == State::kNew; });
  if (found == end) return std::nullopt;
  is_planning_ = true;
  (*found)->state = State::kPlanning;
  return Task{*found, std::nullopt};
}

void Prefetcher::run(Task task, Sample& sample, std::unique_lock<std::mutex>& lock) {
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
  if (cell.done_pieces == cell.maker->pieces()) settle_made(cell, lock);
}

void Prefetcher::settle_made(Cell& cell, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  std::exception_ptr failure = cell.maker->finish();
  lock.lock();
  if (!is_wanted(cell)) return;
  cell.failure = std::move(failure);
  cell.state = State::kMade;
  ++batches_made_;
  if (ring_.front().get() == &cell) made_.notify_all();
}

// Where there are no threads.
void Prefetcher::make_head(std::unique_lock<std::mutex>& lock) {
  while (!is_stopped_ && (ring_.empty() || ring_.front()->state != State::kMade)) {
    auto task = claim();
    run(*std::move(task), own_sample_, lock);
  }
}

Batch Prefetcher::take() {
  std::unique_lock lock(mutex_);
  if (threads_.empty()) {
    make_head(lock);
  } else {
    made_.wait(lock,
               [this] { return is_stopped_ || (!ring_.empty() && ring_.front()->state == State::kMade); });
  }
  if (is_stopped_) throw Interrupted("the data loader was stopped");
  const std::shared_ptr<Cell> head = ring_.front();
  if (head->failure != nullptr) {
    // To be made anew, and no later one before it.
    ring_.front() = new_cell(course_, head->maker->index());
    ring_.front()->maker->replace(*head->maker);
    --planned_;
    --batches_made_;
    work_.notify_all();
    const std::exception_ptr failure = head->failure;
    lock.unlock();
    std::rethrow_exception(failure);
  }
  ring_.push_back(new_cell(course_, next_index_));  // may throw, and then nothing was taken
  ++next_index_;
  ring_.pop_front();
  work_.notify_all();
  lock.unlock();
  return Batch(head->maker->take());
}

}  // namespace ratoon::data
