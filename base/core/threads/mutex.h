// Mutex and MutexLock: std::mutex and std::unique_lock with Clang's annotations for thread safety. The
// condition variables are in condition_variable.h. A member that a mutex guards is marked with
// RATOON_GUARDED_BY, and a function that its callers call with the mutex locked is marked with
// RATOON_REQUIRES. Clang then refuses code that uses such a member or such a function without the lock
// (tests/tidy/clang_tidy_test.py); GCC ignores the annotations.
//
//     class Counter {
//      public:
//       void add() {
//         const MutexLock lock(mutex_);
//         ++count_;
//         changed_.notify_all();
//       }
//       void wait_for_one() {
//         MutexLock lock(mutex_);
//         changed_.wait(lock, [this]() RATOON_REQUIRES(mutex_) { return count_ > 0; });
//       }
//
//      private:
//       Mutex mutex_;
//       ConditionVariable changed_;
//       int count_ RATOON_GUARDED_BY(mutex_) = 0;
//     };
#pragma once

#include <mutex>

#if defined(__clang__)
#define RATOON_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define RATOON_THREAD_SAFETY(attribute)
#endif

// The member is used only while the mutex is locked.
#define RATOON_GUARDED_BY(mutex) RATOON_THREAD_SAFETY(guarded_by(mutex))
// The object to which the member points is used only while the mutex is locked.
#define RATOON_POINTEE_GUARDED_BY(mutex) RATOON_THREAD_SAFETY(pt_guarded_by(mutex))
// The caller of the function has locked the mutexes.
#define RATOON_REQUIRES(...) RATOON_THREAD_SAFETY(requires_capability(__VA_ARGS__))
// The caller of the function has not locked the mutexes, because the function locks them.
#define RATOON_EXCLUDES(...) RATOON_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
// Clang does not check the body of the function. A comment beside it says why it is right.
#define RATOON_NOT_CHECKED_FOR_THREADS RATOON_THREAD_SAFETY(no_thread_safety_analysis)

namespace ratoon {

template <class Standard>
class BasicConditionVariable;

class RATOON_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() RATOON_THREAD_SAFETY(acquire_capability()) { mutex_.lock(); }
  void unlock() RATOON_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }
  [[nodiscard]] bool try_lock() RATOON_THREAD_SAFETY(try_acquire_capability(true)) {
    return mutex_.try_lock();
  }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Locks a mutex until the end of the block. unlock() and lock() end and continue the lock within the block.
class RATOON_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) RATOON_THREAD_SAFETY(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
  ~MutexLock() RATOON_THREAD_SAFETY(release_capability()) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() RATOON_THREAD_SAFETY(acquire_capability()) { lock_.lock(); }
  void unlock() RATOON_THREAD_SAFETY(release_capability()) { lock_.unlock(); }

 private:
  template <class Standard>
  friend class BasicConditionVariable;

  std::unique_lock<std::mutex> lock_;
};

}  // namespace ratoon
