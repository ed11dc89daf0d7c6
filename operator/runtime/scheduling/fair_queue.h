// operator/runtime/scheduling/: decides which job the next free worker handles. FairQueue: the jobs that are
// due. Jobs wait by namespace, and the namespaces take turns: a worker that becomes free handles a job of the
// namespace that has the fewest workers. Calls for a job may hang, for example in a webhook of its namespace,
// so jobs of one namespace have at most `per_namespace_max` workers at once. A job whose last turn was long
// is slow. Slow jobs get only a part of the namespace's workers, so that its other jobs also get workers.
//
// At most `active_max` workers may be active. A worker whose turn lasts long, because a call hangs, does
// not count as active, and another worker takes its place. So jobs whose calls hang cannot hold all
// workers.
//
// Among namespaces with equally many workers, a job with a disruption gets a worker before a routine decision
// that has waited for less than a second.
//
// The queue has no clock: callers pass the time. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "operator/runtime/scheduling/urgency.h"

namespace ratoon::runtime {

// Limits for groups of jobs: how many workers may handle jobs of a group at the same time.
struct WorkerLimits {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::size_t per_namespace_max = kNone;       // jobs of one namespace
  std::size_t slow_max = kNone;                // slow jobs of all namespaces together
  std::size_t slow_per_namespace_max = kNone;  // slow jobs of one namespace
  std::size_t active_max = kNone;              // all jobs whose turn is not long yet
};

class FairQueue {
 public:
  // A job is slow if its last turn took at least this long. A turn takes this long only if a call hangs.
  static constexpr Duration kSlowTurn = std::chrono::seconds(5);
  // If a turn lasts this long, the queue assumes that its worker waits for a call that hangs.
  static constexpr Duration kHangingTurn = std::chrono::milliseconds(500);
  // A routine decision that has waited this long counts like a disruption.
  static constexpr Duration kRoutineWait = std::chrono::seconds(1);

  explicit FairQueue(WorkerLimits limits) : limits_(limits) {}

  // Adds a job that became due at `due`. If the job waits already, the caller must remove() it before add().
  void add(const JobKey& key, Urgency urgency, Timestamp due);
  void remove(const JobKey& key, Urgency urgency, Timestamp due);
  // Takes the job whose turn it is; returns nothing if no waiting job may have a worker now.
  [[nodiscard]] std::optional<JobKey> take(Timestamp now);
  // Frees the worker of a taken job, whose turn lasted for the time `turn`.
  void give_back(const JobKey& key, Duration turn);
  // Call forget() after give_back() of a job that no longer exists, so that a later job of the same name does
  // not count as slow.
  void forget(const JobKey& key) { slow_jobs_.erase(key); }
  // If jobs wait because `active_max` workers are active, returns when the first of these workers will no
  // longer count as active.
  [[nodiscard]] std::optional<Timestamp> next_worker_free_at(Timestamp now) const;

  struct Backlog {
    std::size_t jobs = 0;
    double longest_wait_seconds = 0;  // how long the first of them has waited
  };
  [[nodiscard]] Backlog backlog(Timestamp now) const;
  [[nodiscard]] bool is_empty() const { return waiting_count_ == 0; }

 private:
  using WaitingJob = std::pair<Timestamp, JobKey>;
  // The waiting jobs of one kind: quick or slow, with a disruption or without.
  using WaitingJobs = std::set<WaitingJob>;
  struct NamespaceQueue {
    std::array<WaitingJobs, 4> turns{};  // see waiting_jobs_of()
    std::size_t taken = 0;
    std::size_t slow_taken_count = 0;
    std::uint64_t served = 0;  // the number of the last take() that took one of its jobs, or before it came
    [[nodiscard]] bool is_unused() const;
  };
  // The job of a namespace that gets the namespace's next worker. `line` is null if no job of the namespace
  // may have a worker now.
  struct Candidate {
    NamespaceQueue* line = nullptr;
    WaitingJobs* turns = nullptr;
    bool is_urgent = false;
    Timestamp due;
  };

  [[nodiscard]] static WaitingJobs& waiting_jobs_of(NamespaceQueue& line, bool is_slow, Urgency urgency);
  [[nodiscard]] Candidate first_of(NamespaceQueue& line, Timestamp now) const;
  [[nodiscard]] static bool is_before(const Candidate& one, const Candidate& other);
  [[nodiscard]] bool are_all_active(Timestamp now) const;

  const WorkerLimits limits_;
  std::map<std::string, NamespaceQueue> namespace_queues_;  // by namespace
  std::set<JobKey> slow_jobs_;                              // jobs whose last turn was long
  std::set<JobKey> slow_taken_jobs_;                        // those of them that have a worker now
  std::map<JobKey, Timestamp> taken_since_;                 // all jobs that have a worker now
  std::size_t waiting_count_ = 0;
  std::uint64_t take_count_ = 0;
};

}  // namespace ratoon::runtime
