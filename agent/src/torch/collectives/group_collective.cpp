#include "agent/src/torch/collectives/group_collective.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include <ATen/core/ivalue.h>

namespace ratoon {

struct GroupCollective::Count {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t running = 0;   // guarded by mutex
  std::exception_ptr error;  // guarded by mutex

  void end(std::exception_ptr with) {
    const std::scoped_lock lock(mutex);
    --running;
    if (!error) error = std::move(with);
    changed.notify_all();
  }
};

std::shared_ptr<GroupCollective::Count> GroupCollective::make_count() {
  return std::make_shared<Count>();
}

void GroupCollective::begin_sum(const at::Tensor& piece) {
  std::erase_if(sums_, [](const Sum& sum) { return sum.work->isCompleted(); });
  {
    const std::scoped_lock lock(count_->mutex);
    ++count_->running;
  }
  try {
    std::vector<at::Tensor> one{piece};
    sums_.push_back({piece, group_->allreduce(one)});
    sums_.back().work->getFuture()->addCallback([count = count_](c10::ivalue::Future& future) {
      count->end(future.hasError() ? future.exception_ptr() : nullptr);
    });
  } catch (const c10::Error&) {
    count_->end(std::current_exception());
  }
}

// On the CPU do not wait here, because the caller waits for the sums later, and the wait() of LibTorch's work
// object could not be interrupted.
void GroupCollective::queue_wait() {
  for (const Sum& sum : sums_)
    if (!sum.piece.is_cpu()) sum.work->wait();
}

// A future for work on a device is complete as soon as the kernels are queued on the device.
bool GroupCollective::are_complete() const {
  return std::ranges::all_of(sums_,
                             [](const Sum& sum) { return sum.piece.is_cpu() || sum.work->isCompleted(); });
}

void GroupCollective::wait(const std::function<void()>& look) {
  constexpr std::chrono::milliseconds kLook(1);
  std::unique_lock lock(count_->mutex);
  while ((count_->running > 0 || !are_complete()) && !count_->error) {
    if (count_->changed.wait_for(lock, kLook) == std::cv_status::no_timeout) continue;
    lock.unlock();
    look();
    lock.lock();
  }
}

std::exception_ptr GroupCollective::error() {
  {
    const std::scoped_lock lock(count_->mutex);
    if (count_->error) return count_->error;
  }
  for (const Sum& sum : sums_)
    if (!sum.piece.is_cpu() && sum.work->isCompleted() && sum.work->exception()) return sum.work->exception();
  return nullptr;
}

bool GroupCollective::has_stopped() {
  return std::ranges::all_of(sums_, [](const Sum& sum) { return sum.work->isCompleted(); });
}

}  // namespace ratoon
