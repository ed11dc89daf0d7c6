// PeerWatch: while a process waits for other ranks, tries to connect to each of them, and keeps a list of the
// unreachable ranks (peers). Heartbeats contain the list of unreachable peers.
//
// A process tries to connect only after it has waited for some seconds, so ranks that make steps send no
// probes. A peer is added to the list after two failed connection attempts in a row, about 11 s after the
// wait began.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "base/core/threads/condition_variable.h"

namespace ratoon::session {

class PeerWatch {
 public:
  struct ProbeTimes {
    Duration usual_wait_max = std::chrono::seconds(5);  // longer than this is no ordinary wait
    Duration check_interval = std::chrono::seconds(1);  // the interval of checks whether the process waits
    Duration pause_if_unreachable = std::chrono::seconds(1);    // after a peer could not be reached
    Duration pause_if_all_reachable = std::chrono::seconds(5);  // after all could
    Duration connect_timeout = std::chrono::seconds(2);
  };
  // A WaitStartFunction returns the time since which the process waits for other ranks; nullopt if it does
  // not wait.
  using WaitStartFunction = std::function<std::optional<Timestamp>()>;

  // An OnUnreachableChanged is called when the list of unreachable peers has changed. `is_any` is true if any
  // peer is unreachable.
  using OnUnreachableChanged = std::function<void(bool is_any)>;

  // PeerWatch calls the functions `waits_since` and `on_news` on its own thread.
  PeerWatch(const ProbeTimes& pace, WaitStartFunction waits_since, OnUnreachableChanged on_news);

  // Sets the peers of a new attempt. If `peers` is empty, nothing is probed.
  void set_peers(std::vector<PeerAddress> peers);

  // Returns the UIDs of the peers that were unreachable in the wait that began at `waits_since`.
  [[nodiscard]] std::vector<std::string> unreachable(Timestamp waits_since) const;

 private:
  void run(const std::stop_token& stop);
  // Tries once to connect to each peer. Returns the pause until the next call of probe().
  [[nodiscard]] Duration probe(const std::stop_token& stop);

  const ProbeTimes probe_times_;
  const WaitStartFunction waits_since_;
  const OnUnreachableChanged on_unreachable_changed_;
  const SystemClock clock_{};
  mutable Mutex mutex_;
  std::vector<PeerAddress> peers_ RATOON_GUARDED_BY(mutex_);
  std::uint64_t attempt_count_ RATOON_GUARDED_BY(mutex_) = 0;
  std::optional<Timestamp> wait_began_at_ RATOON_GUARDED_BY(mutex_);  // of the lists below
  std::vector<std::string> failed_last_round_ RATOON_GUARDED_BY(mutex_);
  std::vector<std::string> unreachable_peers_ RATOON_GUARDED_BY(mutex_);  // in the last two rounds
  StoppableConditionVariable peers_changed_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace ratoon::session
