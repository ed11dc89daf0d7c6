#include "agent/src/torch/collectives/group_collective.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>

#include <ATen/core/ivalue.h>

#include "agent/src/session/telemetry/say.h"
#include "base/core/threads/condition_variable.h"

namespace ratoon {

struct GroupCollective::RunningSums {
  Mutex mutex;
  ConditionVariable changed;
  std::size_t running RATOON_GUARDED_BY(mutex) = 0;
  std::exception_ptr error RATOON_GUARDED_BY(mutex);

  void end(std::exception_ptr with) {
    const MutexLock lock(mutex);
    --running;
    if (!error) error = std::move(with);
    changed.notify_all();
  }
};

std::shared_ptr<GroupCollective::RunningSums> GroupCollective::make_running_sums() {
  return std::make_shared<RunningSums>();
}

void GroupCollective::begin_sum(const at::Tensor& piece) {
  std::erase_if(sums_, [](const Sum& sum) { return sum.work->isCompleted(); });
  {
    const MutexLock lock(running_sums_->mutex);
    ++running_sums_->running;
  }
  try {
    std::vector<at::Tensor> one{piece};
    sums_.push_back({piece, group_->allreduce(one)});
    sums_.back().work->getFuture()->addCallback([count = running_sums_](c10::ivalue::Future& future) {
      count->end(future.hasError() ? future.exception_ptr() : nullptr);
    });
  } catch (const c10::Error&) {
    running_sums_->end(std::current_exception());
  }
}

// Skips sums on the CPU, because LibTorch's wait() for such a sum blocks this thread and cannot be
// interrupted. The caller waits for these sums later, in GroupCollective::wait().
void GroupCollective::queue_wait() {
  for (const Sum& sum : sums_)
    if (!sum.piece.is_cpu()) sum.work->wait();
}

// Work on a device counts as complete as soon as its kernels are queued; they may run later.
bool GroupCollective::are_sums_complete() const {
  return std::ranges::all_of(sums_,
                             [](const Sum& sum) { return sum.piece.is_cpu() || sum.work->isCompleted(); });
}

void GroupCollective::wait(const std::function<void()>& look) {
  constexpr std::chrono::milliseconds kPollInterval(1);
  MutexLock lock(running_sums_->mutex);
  while ((running_sums_->running > 0 || !are_sums_complete()) && !running_sums_->error) {
    if (running_sums_->changed.wait_for(lock, kPollInterval) == std::cv_status::no_timeout) continue;
    lock.unlock();
    look();
    lock.lock();
  }
}

std::exception_ptr GroupCollective::error() {
  {
    const MutexLock lock(running_sums_->mutex);
    if (running_sums_->error) return running_sums_->error;
  }
  for (const Sum& sum : sums_)
    if (!sum.piece.is_cpu() && sum.work->isCompleted() && sum.work->exception()) return sum.work->exception();
  return nullptr;
}

GroupCollective::~GroupCollective() {
  if (abort_thread_.joinable()) abort_thread_.join();
}

void GroupCollective::abort() {
  if (abort_kind_ == AbortKind::kShort)
    run_abort();
  else if (!abort_thread_.joinable())
    abort_thread_ = std::thread([this] { run_abort(); });
}

void GroupCollective::run_abort() {
  try {
    abort_function_(*group_);
    has_aborted_ = true;
  } catch (const std::exception& error) {
    session::say(std::string("sums over the ranks could not be aborted: ") + error.what());
  }
}

// A sum on a device counts as completed as soon as it has an error, although its kernel may still write. In
// this case, only the end of the abort says that no kernel runs any longer.
bool GroupCollective::has_stopped() {
  if (!std::ranges::all_of(sums_, [](const Sum& sum) { return sum.work->isCompleted(); })) return false;
  return has_aborted_ || error() == nullptr;
}

bool GroupCollective::is_over() {
  return has_stopped() && (!abort_thread_.joinable() || has_aborted_);
}

}  // namespace ratoon
