// WorkQueue: which jobs are to be looked at, and when. A key is in it once, at its earliest moment. Whoever
// takes a key has it alone until it is done with it; what is asked for meanwhile comes out again afterwards.
//
// Thread contract: every method may be called from any thread, and any number of threads take.
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
#include "operator/runtime/urgency.h"

namespace ratoon::runtime {

class WorkQueue {
 public:
  // `idle`: after so long a sleeper looks at the clock by itself, whatever it was told. `each_max`: so many
  // jobs of one namespace are out at once; while calls for them hang, threads are left for others.
  explicit WorkQueue(const Clock& clock, Duration idle = std::chrono::seconds(1),
                     std::size_t each_max = std::numeric_limits<std::size_t>::max())
      : clock_(clock), idle_(idle), each_max_(each_max) {}

  // The earlier of this moment and the one that is noted already counts.
  void add(const JobKey& key, Timestamp at);
  // A disruption is taken before all that is due without one.
  void add_now(const JobKey& key, Urgency urgency = Urgency::kRoutine);
  // Blocks until one is due and takes it out; nothing once `stop` is requested.
  [[nodiscard]] std::optional<JobKey> take(const std::stop_token& stop);
  // The same without waiting; nothing where none is due.
  [[nodiscard]] std::optional<JobKey> take_due();
  // Since when a disruption had been asked for when this key was taken; nothing: there was none. For who has
  // the key.
  [[nodiscard]] std::optional<Timestamp> disrupted_since(const JobKey& key) const;
  // From who took it, once, whatever came of it.
  void done(const JobKey& key);

  // Those that are due and not taken yet.
  struct Backlog {
    std::size_t jobs = 0;
    double longest_seconds = 0;
  };
  [[nodiscard]] Backlog backlog() const;

 private:
  struct Entry {
    std::optional<Timestamp> due{};  // asked for
    Urgency urgency = Urgency::kRoutine;
    bool is_taken = false;
    std::optional<Timestamp> disrupted{};        // since when a disruption is asked for
    std::optional<Timestamp> taken_disrupted{};  // of who has it
  };
  using Turn = std::tuple<Urgency, Timestamp, JobKey>;

  void ask(const JobKey& key, Timestamp at, Urgency urgency);
  void line_up(const JobKey& key, const Entry& entry);  // mutex_ is held
  [[nodiscard]] bool is_first_due() const;              // mutex_ is held
  // mutex_ is held. Nothing: none is due, or those that are belong to namespaces that have enough out.
  [[nodiscard]] std::optional<JobKey> take_first();
  void note_returned(const std::string& name_space);  // mutex_ is held

  const Clock& clock_;
  const Duration idle_;
  const std::size_t each_max_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<JobKey, Entry> entries_;         // guarded by mutex_
  std::set<Turn> in_turn_;                  // guarded by mutex_; of those that are asked for and not taken
  std::map<std::string, std::size_t> out_;  // guarded by mutex_; taken, of each namespace
  std::map<std::string, std::set<Turn>> held_up_;  // guarded by mutex_; due, of those that have enough out
  std::uint64_t changes_ = 0;  // guarded by mutex_; tells sleepers that their pause may be too long
  bool is_watched_ = false;    // guarded by mutex_; one sleeper waits for the next moment, the others for it
};

}  // namespace ratoon::runtime
