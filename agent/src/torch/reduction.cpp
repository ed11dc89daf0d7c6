#include "agent/src/torch/reduction.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include <ATen/core/ivalue.h>

namespace ratoon {

struct Reduction::Count {
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

Reduction::Reduction(c10::intrusive_ptr<c10d::Backend> group)
    : group_(std::move(group)), count_(std::make_shared<Count>()) {}

void Reduction::begin(const at::Tensor& piece) {
  {
    const std::scoped_lock lock(count_->mutex);
    ++count_->running;
  }
  try {
    std::vector<at::Tensor> one{pieces_.emplace_back(piece)};
    works_.push_back(group_->allreduce(one));
    works_.back()->getFuture()->addCallback([count = count_](c10::ivalue::Future& future) {
      count->end(future.hasError() ? future.exception_ptr() : nullptr);
    });
  } catch (const c10::Error&) {
    count_->end(std::current_exception());
  }
}

void Reduction::wait(const std::function<void()>& look) {
  constexpr std::chrono::milliseconds kLook(1);
  std::unique_lock lock(count_->mutex);
  while (count_->running > 0 && !count_->error) {
    if (count_->changed.wait_for(lock, kLook) == std::cv_status::no_timeout) continue;
    lock.unlock();
    look();
    lock.lock();
  }
}

std::exception_ptr Reduction::error() const {
  const std::scoped_lock lock(count_->mutex);
  return count_->error;
}

bool Reduction::is_over() const {
  return std::ranges::all_of(works_, [](const auto& work) { return work->isCompleted(); });
}

}  // namespace ratoon
