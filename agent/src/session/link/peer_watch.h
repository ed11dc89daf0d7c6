// PeerWatch: while a process waits for other ranks, tries to connect to each of them, and keeps a list of the
// unreachable ranks (peers). Heartbeats send the list to the coordinator.
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
  struct Pace {
    Duration wait = std::chrono::seconds(5);   // longer than this is no ordinary wait
    Duration look = std::chrono::seconds(1);   // the interval of checks whether the process waits
    Duration again = std::chrono::seconds(1);  // after a peer could not be reached
    Duration calm = std::chrono::seconds(5);   // after all could
    Duration connect = std::chrono::seconds(2);
  };
  // A function that returns the time since which the process waits for other ranks; nullopt if it does not
  // wait.
  using WaitsSince = std::function<std::optional<Timestamp>()>;

  // A function that is called when the list of unreachable peers has changed. `is_any` is true if any peer is
  // unreachable.
  using OnNews = std::function<void(bool is_any)>;

  // The thread of PeerWatch calls `waits_since` and `on_news`.
  PeerWatch(const Pace& pace, WaitsSince waits_since, OnNews on_news);

  // Sets the peers of a new attempt. If `peers` is empty, nothing is probed.
  void watch(std::vector<PeerAddress> peers);

  // Returns the UIDs of the peers that were unreachable in the wait that began at `waits_since`.
  [[nodiscard]] std::vector<std::string> unreachable(Timestamp waits_since) const;

 private:
  void run(const std::stop_token& stop);
  // Tries once to connect to each peer. Returns the pause until the next call of probe().
  [[nodiscard]] Duration probe(const std::stop_token& stop);

  const Pace pace_;
  const WaitsSince waits_since_;
  const OnNews on_news_;
  const SystemClock clock_{};
  mutable std::mutex mutex_;
  std::vector<PeerAddress> peers_;        // guarded by mutex_
  std::uint64_t worlds_ = 0;              // guarded by mutex_
  std::optional<Timestamp> of_wait_;      // of the lists below; guarded by mutex_
  std::vector<std::string> failed_once_;  // in the last round; guarded by mutex_
  std::vector<std::string> unreachable_;  // in the last two; guarded by mutex_
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace ratoon::session
