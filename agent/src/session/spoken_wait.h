// SpokenWait: a wait that is not silent. After ten seconds, and every minute from then on, a sentence is due.
//
//   SpokenWait wait(clock);
//   while (!is_there()) {
//     if (const auto time = wait.due()) say("waits for the copy, for " + *time + " until now");
//     pause();
//   }
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "agent/src/session/seat_wait.h"
#include "base/core/clock.h"

namespace ratoon::session {

class SpokenWait {
 public:
  explicit SpokenWait(const Clock& clock) : clock_(clock) { wait_.begin(clock_.now()); }

  // How long the wait lasts: "10 s". Nothing where no sentence is due.
  [[nodiscard]] std::optional<std::string> due() {
    const Timestamp now = clock_.now();
    if (!wait_.is_word_due(now)) return std::nullopt;
    return std::to_string(wait_.waited(now) / std::chrono::seconds(1)) + " s";
  }

 private:
  const Clock& clock_;
  SeatWait wait_{std::chrono::seconds(10)};
};

}  // namespace ratoon::session
