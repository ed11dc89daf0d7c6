// WorkQueue: the keys of jobs that need a decision, and when each is due. A key is in the queue once, with
// its earliest time. After a thread has taken a key, no other thread gets it until done(). If the key is
// added in the meantime, it returns to the queue after done(). FairQueue decides which due job is taken next.
//
// Thread contract: every method may be called from any thread, and any number of threads take keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <utility>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "base/core/threads/condition_variable.h"
#include "operator/runtime/scheduling/fair_queue.h"
#include "operator/runtime/scheduling/urgency.h"

namespace ratoon::runtime {

class WorkQueue {
 public:
  using Backlog = FairQueue::Backlog;

  // `idle`: a waiting thread checks the clock at least this often.
  explicit WorkQueue(const Clock& clock, Duration idle = std::chrono::seconds(1), WorkerLimits limits = {})
      : clock_(clock), clock_check_interval_(idle), due_(limits) {}

  // Adds the key of a job for which a decision is due at the time `at`. If the key is already in the queue,
  // the earlier of both times counts.
  void add(const JobKey& key, Timestamp at);
  // Adds a job that is due now.
  void add_now(const JobKey& key, Urgency urgency = Urgency::kRoutine);
  // Blocks until a job is due and may have a worker, and takes it. Returns nothing if `stop` is requested.
  [[nodiscard]] std::optional<JobKey> take(const std::stop_token& stop);
  // Does not wait: takes a job that is due, or returns nothing if no job is due.
  [[nodiscard]] std::optional<JobKey> take_due();
  // Returns when the taken job was added because of a disruption, or nothing if it was added without one.
  // Only the thread that took the key may call disrupted_since().
  [[nodiscard]] std::optional<Timestamp> disrupted_since(const JobKey& key) const;
  // The thread that took the key must call done() once, even after a failure.
  void done(const JobKey& key);

  // Returns how many jobs are due but not taken yet, and how long the oldest of them has waited.
  [[nodiscard]] Backlog backlog() const;

 private:
  struct Entry {
    std::optional<Timestamp> due{};  // requested time
    Urgency urgency = Urgency::kRoutine;
    std::optional<Timestamp> taken{};                  // since when a thread has the key
    std::optional<Timestamp> disrupted{};              // since when a disruption is requested
    std::optional<Timestamp> taken_disrupted_since{};  // for the thread that has it
  };

  void ask(const JobKey& key, Timestamp at, Urgency urgency);
  void enqueue(const JobKey& key, const Entry& entry) RATOON_REQUIRES(mutex_);
  void remove_from_queues(const JobKey& key, const Entry& entry) RATOON_REQUIRES(mutex_);
  void move_due(Timestamp now) RATOON_REQUIRES(mutex_);  // from not_yet_due_ to due_
  [[nodiscard]] std::optional<JobKey> take_first() RATOON_REQUIRES(mutex_);

  const Clock& clock_;
  const Duration clock_check_interval_;
  mutable Mutex mutex_;
  StoppableConditionVariable wake_;
  std::map<JobKey, Entry> entries_ RATOON_GUARDED_BY(mutex_);
  // The keys that are requested, not taken and not due yet.
  std::set<std::pair<Timestamp, JobKey>> not_yet_due_ RATOON_GUARDED_BY(mutex_);
  FairQueue due_ RATOON_GUARDED_BY(mutex_);  // requested, not taken and due
  // Shows waiting threads that their pause may be too long.
  std::uint64_t change_count_ RATOON_GUARDED_BY(mutex_) = 0;
  // Whether one thread waits for the next moment; the others wait for this thread.
  bool has_timed_waiter_ RATOON_GUARDED_BY(mutex_) = false;
};

}  // namespace ratoon::runtime
