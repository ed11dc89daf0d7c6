#include "tests/support/nccl_stand_in/communicator.h"

#include <utility>

#include "tests/support/nccl_stand_in/last_words.h"
#include "tests/support/nccl_stand_in/nccl_stand_in.h"
#include "tests/support/nccl_stand_in/settings.h"

namespace ratoon::test::nccl_stand_in {
namespace {

struct Enqueued {
  std::shared_ptr<Communicator> communicator;
  Work work;
  std::uint64_t turn;
};

void run_enqueued(void* context) {
  const std::unique_ptr<Enqueued> enqueued(static_cast<Enqueued*>(context));
  enqueued->communicator->run(enqueued->work, enqueued->turn);
}

}  // namespace

Communicator::Communicator(CommunicatorPlan plan) : plan_(std::move(plan)) {
  thread_ = std::thread([this] { do_tasks(); });
}

Communicator::~Communicator() {
  end_thread();
}

ncclResult_t Communicator::check_ready() {
  const Lock lock(mutex_);
  if (error_ != ncclSuccess) return error_;
  if (is_aborted_) return refuse(ncclInvalidUsage, "the communicator was aborted");
  if (has_task_in_hand_ || !tasks_.empty())
    return refuse(ncclInvalidArgument,
                  "the call before is in progress: ask ncclCommGetAsyncError() until it is not");
  if (is_finalized_) return refuse(ncclInvalidUsage, "the communicator was finalized");
  return ncclSuccess;
}

void Communicator::post(Task task) {
  const Lock lock(mutex_);
  is_finalized_ = is_finalized_ || task.finalizes;
  tasks_.push_back(task);
  changed_.notify_all();
}

ncclResult_t Communicator::result_of_posted() {
  if (!plan_.is_blocking) return ncclInProgress;
  Lock lock(mutex_);
  changed_.wait(
      lock, [&] { return is_aborted_ || error_ != ncclSuccess || (tasks_.empty() && !has_task_in_hand_); });
  if (error_ != ncclSuccess) return error_;
  return is_aborted_ ? refuse(ncclInvalidUsage, "the communicator was aborted") : ncclSuccess;
}

ncclResult_t Communicator::async_error() {
  const Lock lock(mutex_);
  if (error_ != ncclSuccess) return error_;
  return tasks_.empty() && !has_task_in_hand_ ? ncclSuccess : ncclInProgress;
}

bool Communicator::destroy() {
  Lock lock(mutex_);
  if (!is_finalized_) {
    is_finalized_ = true;
    tasks_.push_back({.finalizes = true});
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return is_aborted_ || (tasks_.empty() && !has_task_in_hand_); });
  const bool was_aborted = is_aborted_;
  lock.unlock();
  if (!was_aborted) end_thread();
  return !was_aborted;
}

void Communicator::abort() {
  settings().wait_before_abort();
  {
    const Lock lock(mutex_);
    is_aborted_ = true;
    signal_.raise();
    changed_.notify_all();
  }
  end_thread();
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return inside_ == 0; });
  links_.sockets.clear();
}

void Communicator::end_thread() {
  Lock lock(mutex_);
  if (!std::exchange(has_thread_, false)) return;
  is_ending_ = true;
  changed_.notify_all();
  lock.unlock();
  // The last owner may be the stream's thread, but the thread itself owns nothing.
  thread_.join();
}

ncclRedOp_t Communicator::keep_factor(ncclDataType_t type, const Factor& factor) {
  const Lock lock(mutex_);
  factors_.emplace(next_factor_, std::pair(type, factor));
  return static_cast<ncclRedOp_t>(next_factor_++);
}

bool Communicator::drop_factor(ncclRedOp_t op) {
  const Lock lock(mutex_);
  return factors_.erase(op) == 1;
}

std::optional<Factor> Communicator::factor_of(ncclRedOp_t op, ncclDataType_t type) {
  const Lock lock(mutex_);
  const auto found = factors_.find(op);
  if (found == factors_.end() || found->second.first != type) return std::nullopt;
  return found->second.second;
}

void Communicator::do_tasks() {
  Lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_ending_ || is_aborted_ || !tasks_.empty(); });
    if (is_ending_ || is_aborted_) return;
    const Task task = tasks_.front();
    tasks_.pop_front();
    has_task_in_hand_ = true;
    lock.unlock();
    if (task.connects)
      connect();
    else if (task.finalizes)
      finalize();
    else
      enqueue(task);
    lock.lock();
    if (is_aborted_) return;  // what was in hand stays in progress
    has_task_in_hand_ = false;
    changed_.notify_all();
  }
}

void Communicator::connect() {
  Connected made = connect_ranks(plan_.world, std::move(plan_.listener), signal_);
  if (made.outcome == Outcome::kAborted) return;
  if (made.outcome == Outcome::kLost) return note_loss(made.problem);
  if (!made.problem.empty()) return note_problem(ncclInvalidUsage, made.problem);
  if (settings().now().refuses_shared_devices != 0) {
    for (std::uint32_t one = 0; one < made.places.size(); ++one)
      for (std::uint32_t other = 0; other < one; ++other)
        if (made.places[one].process == made.places[other].process &&
            made.places[one].device == made.places[other].device)
          return note_problem(ncclInvalidUsage, "the ranks " + std::to_string(other) + " and " +
                                                    std::to_string(one) + " are on one device");
  }
  const Lock lock(mutex_);
  links_ = {.rank = plan_.world.rank, .size = plan_.world.size, .sockets = std::move(made.sockets)};
}

void Communicator::finalize() {
  std::uint64_t turn = 0;
  {
    Lock lock(mutex_);
    changed_.wait(lock, [&] { return is_aborted_ || turn_ == enqueued_; });
    if (is_aborted_) return;
    turn = turn_;
  }
  const Worked worked = perform({.kind = Kind::kFinalize}, turn, links_, signal_);
  if (worked.outcome == Outcome::kLost) note_loss(worked.problem);
  if (worked.outcome == Outcome::kDone) links_.sockets.clear();
}

void Communicator::enqueue(const Task& task) {
  if (ratoon_test_stream_enqueue == nullptr)
    return note_problem(ncclUnhandledCudaError, "the program brings no ratoon_test_stream_enqueue()");
  auto enqueued = std::make_unique<Enqueued>(Enqueued{shared_from_this(), task.work, 0});
  {
    const Lock lock(mutex_);
    if (is_aborted_) return;
    enqueued->turn = enqueued_++;
  }
  ratoon_test_stream_enqueue(task.stream, run_enqueued, enqueued.release());
}

void Communicator::run(const Work& work, std::uint64_t turn) {
  Lock lock(mutex_);
  ++inside_;
  changed_.wait(lock, [&] { return is_aborted_ || turn_ == turn; });
  const bool may_begin = !is_aborted_;
  lock.unlock();
  Worked worked{.outcome = Outcome::kAborted};
  if (may_begin) worked = perform(work, turn, links_, signal_);
  if (worked.outcome == Outcome::kLost) note_loss(worked.problem);
  if (worked.outcome != Outcome::kDone) fill_result(work, turn);
  lock.lock();
  --inside_;
  if (worked.outcome == Outcome::kDone) ++turn_;
  changed_.notify_all();
}

void Communicator::note_problem(ncclResult_t result, std::string words) {
  say(std::move(words));
  const Lock lock(mutex_);
  error_ = result;
  changed_.notify_all();
}

// As in NCCL, a call that waits for a lost rank goes on waiting, even after an error.
void Communicator::note_loss(const std::string& problem) {
  if (settings().now().reports_lost_ranks != 0)
    note_problem(ncclRemoteError, problem);
  else
    say(problem);
  wait_for_abort();
}

void Communicator::wait_for_abort() {
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return is_aborted_; });
}

void Communicator::fill_result(const Work& work, std::uint64_t turn) const {
  const Values values = settings().now();
  fill_with_garbage({static_cast<std::byte*>(work.into), result_size(work, plan_.world.size)},
                    values.garbage_seed + turn, values.garbage_is_nan != 0, work.type);
}

}  // namespace ratoon::test::nccl_stand_in
