// NewsWait: how long a process waits for the report of a changed world after the program left its loop early.
// A loss may be the reason, and the program may notice the loss before the coordinator does. Pure: the time
// and the state of the link are arguments.
//
//   NewsWait wait(now);
//   do {
//     wait.note(link.change_signs());
//     if (wait.is_report_due(now)) say(...);
//   } while (!wait.is_over(now));
//   if (wait.was_coordinator_silent()) fail(...);
#pragma once

#include <chrono>
#include <string>

#include "agent/src/session/link/link.h"
#include "base/core/clock.h"

namespace ratoon::session {

class NewsWait {
 public:
  explicit NewsWait(Timestamp now) : began_(now), next_word_(now + kFirstWord) {}

  // Signs that a change is near prolong the wait, also if the signs disappear later: the report of the change
  // may still come.
  void note(const ChangeSigns& signs) {
    signs_ = signs;
    was_change_near_ = was_change_near_ || !signs.why_near.empty();
  }
  // A report is due after ten seconds, and every minute from then on.
  [[nodiscard]] bool is_report_due(Timestamp now);
  // Returns "waits up to 60 s for news of a changed world", and the state of the link.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is_over(Timestamp now) const { return now - began_ >= patience(); }
  // Whether there is a coordinator, and it has not answered since this wait began.
  [[nodiscard]] bool was_coordinator_silent() const {
    return signs_.coordinator_answered && *signs_.coordinator_answered < began_;
  }
  [[nodiscard]] Duration patience() const { return was_change_near_ ? kChangeIsNear : kUsual; }

 private:
  static constexpr Duration kUsual = std::chrono::seconds(60);
  static constexpr Duration kChangeIsNear = std::chrono::seconds(100);
  static constexpr Duration kFirstWord = std::chrono::seconds(10);
  static constexpr Duration kNextWord = std::chrono::minutes(1);

  Timestamp began_;
  Timestamp next_word_;
  ChangeSigns signs_;
  bool was_change_near_ = false;
};

}  // namespace ratoon::session
