// WorkQueue: which jobs are to be looked at, and when. A key is in it once, at its earliest moment; a key
// that is being worked on and is asked for again comes out again afterwards.
//
// Thread contract: every method may be called from any thread; one thread takes.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <utility>

#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::runtime {

class WorkQueue {
 public:
  explicit WorkQueue(const Clock& clock) : clock_(clock) {}

  // The earlier of this moment and the one that is noted already counts.
  void add(const JobKey& key, Timestamp at);
  void add_now(const JobKey& key) { add(key, clock_.now()); }
  // Blocks until one is due and takes it out; nothing once `stop` is requested.
  [[nodiscard]] std::optional<JobKey> take(const std::stop_token& stop);
  // The same without waiting; nothing where none is due.
  [[nodiscard]] std::optional<JobKey> take_due();

  // Those that are due and not taken yet.
  struct Backlog {
    std::size_t jobs = 0;
    double longest_seconds = 0;
  };
  [[nodiscard]] Backlog backlog() const;

 private:
  [[nodiscard]] std::optional<JobKey> take_due(Timestamp now);  // mutex_ is held

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<JobKey, Timestamp> due_;                 // guarded by mutex_
  std::set<std::pair<Timestamp, JobKey>> in_turn_;  // guarded by mutex_; the same, the earliest first
  std::uint64_t additions_ = 0;  // guarded by mutex_; tells a sleeper that its pause may be too long
};

}  // namespace ratoon::runtime
