#include "agent/src/session/tracked/stateful_lifetimes.h"

#include <unordered_map>

#include "base/core/never_destroyed.h"
#include "base/core/threads/mutex.h"

namespace ratoon {
namespace session {
namespace {

class Lifetimes {
 public:
  using Flag = std::shared_ptr<std::atomic<bool>>;

  Flag watch(const Stateful& object) {
    const MutexLock lock(mutex_);
    Flag& flag = flags_[&object];
    if (!flag) {
      flag = std::make_shared<std::atomic<bool>>(false);
      ++watched_;
    }
    return flag;
  }
  void end(const Stateful& object) {
    if (watched_ == 0) return;
    const MutexLock lock(mutex_);
    const auto found = flags_.find(&object);
    if (found == flags_.end()) return;
    *found->second = true;
    flags_.erase(found);
    --watched_;
  }

 private:
  std::atomic<std::size_t> watched_ = 0;
  Mutex mutex_;
  std::unordered_map<const Stateful*, Flag> flags_ RATOON_GUARDED_BY(mutex_);
};

// The Lifetimes object is never destroyed, because the destructors of the program's static objects may use it
// when the process exits.
Lifetimes& lifetimes() {
  static const NeverDestroyed<Lifetimes> all;
  return *all;
}

}  // namespace

std::shared_ptr<const std::atomic<bool>> watch_lifetime(const Stateful& object) {
  return lifetimes().watch(object);
}

void end_lifetime(const Stateful& object) noexcept {
  lifetimes().end(object);
}

}  // namespace session

Stateful::~Stateful() {
  session::end_lifetime(*this);
}

}  // namespace ratoon
