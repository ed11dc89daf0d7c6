#include "base/core/fd_closed_on_fork.h"

#include <mutex>
#include <type_traits>
#include <utility>

#include <pthread.h>

namespace ratoon {

// The list of all open FdClosedOnFork objects. Handlers of pthread_atfork() make sure that no other thread
// changes the list during a fork.
//
// The mutex is a std::mutex and not a Mutex (base/core/threads/mutex.h), because the handlers lock it before
// the fork and unlock it in the parent and in the child, which Clang's check of locks cannot follow.
struct FdsClosedOnFork {
  std::mutex mutex;
  FdClosedOnFork* first = nullptr;  // guarded by mutex

  static FdsClosedOnFork& all();
  // Runs in a forked child, so it calls only functions that are async-signal-safe.
  void close() {
    for (FdClosedOnFork* fd = first; fd != nullptr; fd = fd->next_open_fd_) fd->fd_.reset();
    mutex.unlock();
  }
};

FdsClosedOnFork& FdsClosedOnFork::all() {
  static FdsClosedOnFork list;
  static const int registered =
      ::pthread_atfork([] { list.mutex.lock(); }, [] { list.mutex.unlock(); }, [] { list.close(); });
  static_cast<void>(registered);
  return list;
}
static_assert(std::is_trivially_destructible_v<FdsClosedOnFork>, "a thread may fork while the process ends");

void FdClosedOnFork::register_open_fd() {
  if (!fd_.is_open()) return;
  auto& all = FdsClosedOnFork::all();
  const std::lock_guard lock(all.mutex);
  previous_open_fd_ = nullptr;
  next_open_fd_ = std::exchange(all.first, this);
  if (next_open_fd_ != nullptr) next_open_fd_->previous_open_fd_ = this;
}

void FdClosedOnFork::unregister_open_fd() {
  auto& all = FdsClosedOnFork::all();
  const std::lock_guard lock(all.mutex);
  if (previous_open_fd_ == nullptr && next_open_fd_ == nullptr && all.first != this) return;
  (previous_open_fd_ == nullptr ? all.first : previous_open_fd_->next_open_fd_) = next_open_fd_;
  if (next_open_fd_ != nullptr) next_open_fd_->previous_open_fd_ = previous_open_fd_;
  previous_open_fd_ = next_open_fd_ = nullptr;
}

FdClosedOnFork::FdClosedOnFork(UniqueFd fd) : fd_(std::move(fd)) {
  register_open_fd();
}

FdClosedOnFork::FdClosedOnFork(FdClosedOnFork&& other) noexcept {
  *this = std::move(other);
}

FdClosedOnFork& FdClosedOnFork::operator=(FdClosedOnFork&& other) noexcept {
  if (this == &other) return *this;
  unregister_open_fd();
  other.unregister_open_fd();
  fd_ = std::move(other.fd_);
  register_open_fd();
  return *this;
}

FdClosedOnFork::~FdClosedOnFork() {
  unregister_open_fd();
}

}  // namespace ratoon
