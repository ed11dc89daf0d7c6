// WorkQueue: the keys of jobs that need a decision, and when each is due. A key is in the queue once, with
// its earliest time. A key that a thread has taken is given to no other thread until done(); if it is added
// in the meantime, it returns to the queue after done().
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
  // `idle`: a waiting thread checks the clock at least this often. `each_max`: how many jobs of one namespace
  // may be taken at the same time, so that threads remain for other namespaces while calls hang.
  explicit WorkQueue(const Clock& clock, Duration idle = std::chrono::seconds(1),
                     std::size_t each_max = std::numeric_limits<std::size_t>::max())
      : clock_(clock), idle_(idle), each_max_(each_max) {}

  // Adds the key of a job for which a decision is due at the time `at`. If the key has a time already, the
  // earlier time counts.
  void add(const JobKey& key, Timestamp at);
  // Adds the key of a job for which a decision is due now. Threads take jobs with a disruption before all
  // other due jobs.
  void add_now(const JobKey& key, Urgency urgency = Urgency::kRoutine);
  // Blocks until a job is due, and takes it. Returns nothing if `stop` is requested.
  [[nodiscard]] std::optional<JobKey> take(const std::stop_token& stop);
  // Takes a job that is due without waiting; returns nothing if no job is due.
  [[nodiscard]] std::optional<JobKey> take_due();
  // If the taken job has a disruption, returns when its key was added for the disruption, otherwise nothing.
  // Only the thread that took the key may call this function.
  [[nodiscard]] std::optional<Timestamp> disrupted_since(const JobKey& key) const;
  // The thread that took the key must call done() once, even after a failure.
  void done(const JobKey& key);

  // How many jobs are due but not taken yet, and how long the first has waited.
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
  // Takes the first due job; returns nothing if there is none, or only jobs of namespaces at their limit. The
  // caller holds mutex_.
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
