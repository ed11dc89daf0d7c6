// operator/runtime/scheduling/: decides which job the next free worker handles. FairQueue: the jobs that are
// due. Jobs wait by namespace, and the namespaces take turns: a worker that becomes free handles a job of the
// namespace that has the fewest workers. Calls for a job may hang, for example in a webhook of its namespace,
// so the jobs of one namespace have only `each_max` workers at once. A job whose last turn was long is slow,
// and slow jobs have only a part of the workers, so that the other jobs of their namespace still have some.
//
// Within these limits, a job with a disruption comes before a routine decision, unless the routine decision
// has waited for a second.
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
  std::size_t each_max = kNone;       // jobs of one namespace
  std::size_t slow_max = kNone;       // slow jobs of all namespaces together
  std::size_t slow_each_max = kNone;  // slow jobs of one namespace
};

class FairQueue {
 public:
  // A job is slow if its last turn took at least this long. Only a call that hangs makes a turn that long.
  static constexpr Duration kSlowTurn = std::chrono::seconds(5);
  // A routine decision that has waited this long counts like a disruption.
  static constexpr Duration kRoutineWait = std::chrono::seconds(1);

  explicit FairQueue(WorkerLimits limits) : limits_(limits) {}

  // Adds a job that is due since `due`. If the job waits already, the caller must remove() it before add().
  void add(const JobKey& key, Urgency urgency, Timestamp due);
  void remove(const JobKey& key, Urgency urgency, Timestamp due);
  // Takes the job whose turn it is; returns nothing if no job waits that may have a worker now.
  [[nodiscard]] std::optional<JobKey> take(Timestamp now);
  // The worker of a taken job is free again, after a turn of this length.
  void give_back(const JobKey& key, Duration turn);

  struct Backlog {
    std::size_t jobs = 0;
    double longest_seconds = 0;  // how long the first of them has waited
  };
  [[nodiscard]] Backlog backlog(Timestamp now) const;
  [[nodiscard]] bool is_empty() const { return waiting_ == 0; }

 private:
  using Turn = std::pair<Timestamp, JobKey>;
  // The waiting jobs of one kind: quick or slow, with a disruption or without.
  using Turns = std::set<Turn>;
  struct NamespaceLine {
    std::array<Turns, 4> turns{};  // see turns_of()
    std::size_t taken = 0;
    std::size_t slow_taken = 0;
    std::uint64_t served = 0;  // the number of the last take() that took one of its jobs, or before it came
    [[nodiscard]] bool is_unused() const;
  };
  // Of the jobs of a namespace that may have a worker now, the first.
  struct Candidate {
    NamespaceLine* line = nullptr;
    Turns* turns = nullptr;
    bool is_urgent = false;
    Timestamp due;
  };

  [[nodiscard]] static Turns& turns_of(NamespaceLine& line, bool is_slow, Urgency urgency);
  [[nodiscard]] Candidate first_of(NamespaceLine& line, Timestamp now) const;
  [[nodiscard]] static bool is_before(const Candidate& one, const Candidate& other);

  const WorkerLimits limits_;
  std::map<std::string, NamespaceLine> lines_;  // by namespace
  std::set<JobKey> slow_;                       // jobs whose last turn was long
  std::set<JobKey> slow_taken_;                 // those of them that have a worker now
  std::size_t waiting_ = 0;
  std::uint64_t takes_ = 0;
};

}  // namespace ratoon::runtime
