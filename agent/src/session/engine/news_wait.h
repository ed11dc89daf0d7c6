// NewsWait decides how long a process waits for a report of a changed world after the program left its loop.
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

  // Signs of a coming change of the world lengthen the wait, even if the signs disappear later, because the
  // report of the change may still come.
  void note(const ChangeSigns& signs) {
    signs_ = signs;
    was_change_near_ = was_change_near_ || !signs.why_near.empty();
  }
  // Returns whether to report: after ten seconds, and then every minute.
  [[nodiscard]] bool is_report_due(Timestamp now);
  // Returns a text such as "waits up to 60 s for news of a changed world", and the link's state.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is_over(Timestamp now) const { return now - began_ >= patience(); }
  // Returns whether there is a coordinator that has not answered since the wait began.
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
