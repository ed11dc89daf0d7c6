// WorkQueue: the jobs that need a decision, and the time of each. A key is in the queue once, with its
// earliest time. A thread that takes a key has it alone until done(); a request in between returns the key to
// the queue afterwards.
//
// Thread contract: every method may be called from any thread, and any number of threads take keys.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <tuple>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "operator/runtime/jobs/urgency.h"

namespace ratoon::runtime {

class WorkQueue {
 public:
  // `idle`: a waiting thread checks the clock at least this often. `each_max`: at most this number of jobs of
  // one namespace are taken at once; while calls for them hang, threads are left for other namespaces.
  explicit WorkQueue(const Clock& clock, Duration idle = std::chrono::seconds(1),
                     std::size_t each_max = std::numeric_limits<std::size_t>::max())
      : clock_(clock), idle_(idle), each_max_(each_max) {}

  // If the key has a time already, the earlier one counts.
  void add(const JobKey& key, Timestamp at);
  // A job with a disruption is taken before all other due jobs.
  void add_now(const JobKey& key, Urgency urgency = Urgency::kRoutine);
  // Blocks until a job is due and takes it; nothing once `stop` is requested.
  [[nodiscard]] std::optional<JobKey> take(const std::stop_token& stop);
  // Does the same without waiting; nothing if no job is due.
  [[nodiscard]] std::optional<JobKey> take_due();
  // The time since when a disruption was requested when this key was taken; nothing: there was none. Only the
  // thread that took the key may call this.
  [[nodiscard]] std::optional<Timestamp> disrupted_since(const JobKey& key) const;
  // The thread that took the key calls this once, also after a failure.
  void done(const JobKey& key);

  // The jobs that are due and not taken yet.
  struct Backlog {
    std::size_t jobs = 0;
    double longest_seconds = 0;
  };
  [[nodiscard]] Backlog backlog() const;

 private:
  struct Entry {
    std::optional<Timestamp> due{};  // requested time
    Urgency urgency = Urgency::kRoutine;
    bool is_taken = false;
    std::optional<Timestamp> disrupted{};        // since when a disruption is requested
    std::optional<Timestamp> taken_disrupted{};  // for the thread that has it
  };
  using Turn = std::tuple<Urgency, Timestamp, JobKey>;

  void ask(const JobKey& key, Timestamp at, Urgency urgency);
  void enqueue(const JobKey& key, const Entry& entry);  // mutex_ is held
  [[nodiscard]] bool is_first_due() const;              // mutex_ is held
  // mutex_ is held. There is no value if no job is due, or if all due jobs belong to namespaces at their
  // limit.
  [[nodiscard]] std::optional<JobKey> take_first();
  void note_returned(const std::string& name_space);  // mutex_ is held

  const Clock& clock_;
  const Duration idle_;
  const std::size_t each_max_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<JobKey, Entry> entries_;                   // guarded by mutex_
  std::set<Turn> in_turn_;                            // guarded by mutex_; requested and not taken
  std::map<std::string, std::size_t> out_;            // guarded by mutex_; number of taken keys by namespace
  std::map<std::string, std::set<Turn>> over_limit_;  // guarded by mutex_; due, of namespaces at their limit
  std::uint64_t changes_ = 0;  // guarded by mutex_; shows waiting threads that their pause may be too long
  bool is_watched_ = false;    // guarded by mutex_; one thread waits for the next moment, the others for it
};

}  // namespace ratoon::runtime
