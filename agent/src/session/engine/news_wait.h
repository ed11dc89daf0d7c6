// NewsWait decides how long a process waits, after the program left its loop, for a report that the set of
// processes has changed. A lost rank may be the reason, and the program may notice the loss before the
// coordinator does. The class does no I/O: the time and the state of the connection to the coordinator are
// arguments.
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

  // Signs that the set of processes will change lengthen the wait. The wait remains longer even if the signs
  // disappear, because the report may still come.
  void note(const ChangeSigns& signs) {
    signs_ = signs;
    was_change_near_ = was_change_near_ || !signs.why_near.empty();
  }
  // Returns whether to report the wait: after ten seconds, and then every minute.
  [[nodiscard]] bool is_report_due(Timestamp now);
  // Returns a text such as "waits up to 60 s for a report that the set of processes has changed", with the
  // reason to expect a change.
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
