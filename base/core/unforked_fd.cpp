#include "base/core/unforked_fd.h"

#include <mutex>
#include <type_traits>
#include <utility>

#include <pthread.h>

namespace ratoon {

// The list of all open UnforkedFd objects. Handlers of pthread_atfork() make sure that no other thread
// changes the list during a fork.
struct UnforkedFds {
  std::mutex mutex;
  UnforkedFd* first = nullptr;  // guarded by mutex

  static UnforkedFds& all();
  // Runs in a forked child, so it calls only functions that are async-signal-safe.
  void close() {
    for (UnforkedFd* fd = first; fd != nullptr; fd = fd->after_) fd->fd_.reset();
    mutex.unlock();
  }
};

UnforkedFds& UnforkedFds::all() {
  static UnforkedFds list;
  static const int registered =
      ::pthread_atfork([] { list.mutex.lock(); }, [] { list.mutex.unlock(); }, [] { list.close(); });
  static_cast<void>(registered);
  return list;
}
static_assert(std::is_trivially_destructible_v<UnforkedFds>, "a thread may fork while the process ends");

void UnforkedFd::enter() {
  if (!fd_.is_open()) return;
  auto& all = UnforkedFds::all();
  const std::lock_guard lock(all.mutex);
  before_ = nullptr;
  after_ = std::exchange(all.first, this);
  if (after_ != nullptr) after_->before_ = this;
}

void UnforkedFd::leave() {
  auto& all = UnforkedFds::all();
  const std::lock_guard lock(all.mutex);
  if (before_ == nullptr && after_ == nullptr && all.first != this) return;
  (before_ == nullptr ? all.first : before_->after_) = after_;
  if (after_ != nullptr) after_->before_ = before_;
  before_ = after_ = nullptr;
}

UnforkedFd::UnforkedFd(UniqueFd fd) : fd_(std::move(fd)) {
  enter();
}

UnforkedFd::UnforkedFd(UnforkedFd&& other) noexcept {
  *this = std::move(other);
}

UnforkedFd& UnforkedFd::operator=(UnforkedFd&& other) noexcept {
  if (this == &other) return *this;
  leave();
  other.leave();
  fd_ = std::move(other.fd_);
  enter();
  return *this;
}

UnforkedFd::~UnforkedFd() {
  leave();
}

}  // namespace ratoon
