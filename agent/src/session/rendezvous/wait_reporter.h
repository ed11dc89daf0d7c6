// WaitReporter decides when a process logs that it waits: after ten seconds, and then every minute.
//
//   WaitReporter wait(clock);
//   while (!is_there()) {
//     if (const auto time = wait.due()) say("waits for the copy, for " + *time + " until now");
//     pause();
//   }
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "agent/src/session/rendezvous/world_wait.h"
#include "base/core/clock.h"

namespace ratoon::session {

class WaitReporter {
 public:
  explicit WaitReporter(const Clock& clock) : clock_(clock) { world_wait_.begin(clock_.now()); }

  // Returns the duration of the wait, such as "10 s", if a report is due, else nullopt.
  [[nodiscard]] std::optional<std::string> due() {
    const Timestamp now = clock_.now();
    if (!world_wait_.is_report_due(now)) return std::nullopt;
    return std::to_string(world_wait_.waited(now) / std::chrono::seconds(1)) + " s";
  }

 private:
  const Clock& clock_;
  WorldWait world_wait_{std::chrono::seconds(10)};
};

}  // namespace ratoon::session
