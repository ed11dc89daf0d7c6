// PeerWatch: while a process waits for other ranks, tries to connect to each of them, and keeps a list of the
// unreachable ranks (peers). Heartbeats contain the list of unreachable peers.
//
// A process tries to connect only after it has waited for some seconds, so ranks that make steps send no
// probes. A peer is added to the list after two failed connection attempts in a row, about 11 s after the
// wait began.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"

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
  // A WaitsSince returns the time since which the process waits for other ranks; nullopt if it does not
  // wait.
  using WaitsSince = std::function<std::optional<Timestamp>()>;

  // An OnUnreachableChanged is called when the list of unreachable peers has changed. `is_any` is true if any
  // peer is unreachable.
  using OnUnreachableChanged = std::function<void(bool is_any)>;

  // PeerWatch calls the functions `waits_since` and `on_news` on its own thread.
  PeerWatch(const ProbeTimes& pace, WaitsSince waits_since, OnUnreachableChanged on_news);

  // Sets the peers of a new attempt. If `peers` is empty, nothing is probed.
  void set_peers(std::vector<PeerAddress> peers);

  // Returns the UIDs of the peers that were unreachable in the wait that began at `waits_since`.
  [[nodiscard]] std::vector<std::string> unreachable(Timestamp waits_since) const;

 private:
  void run(const std::stop_token& stop);
  // Tries once to connect to each peer. Returns the pause until the next call of probe().
  [[nodiscard]] Duration probe(const std::stop_token& stop);

  const ProbeTimes pace_;
  const WaitsSince waits_since_;
  const OnUnreachableChanged on_unreachable_changed_;
  const SystemClock clock_{};
  mutable std::mutex mutex_;
  std::vector<PeerAddress> peers_;              // guarded by mutex_
  std::uint64_t attempt_count_ = 0;             // guarded by mutex_
  std::optional<Timestamp> wait_began_at_;      // of the lists below; guarded by mutex_
  std::vector<std::string> failed_last_round_;  // in the last round; guarded by mutex_
  std::vector<std::string> unreachable_;        // in the last two; guarded by mutex_
  std::condition_variable_any peers_changed_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace ratoon::session
