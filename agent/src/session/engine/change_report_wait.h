// ChangeReportWait decides how long a process waits, after the program left its loop, for a report that the
// set of processes has changed. A program may leave its loop because a rank was lost, before the coordinator
// notices the loss. ChangeReportWait does no I/O: the time and the state of the connection to the coordinator
// are arguments.
//
//   ChangeReportWait wait(now);
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

class ChangeReportWait {
 public:
  explicit ChangeReportWait(Timestamp now) : began_(now), next_report_at_(now + kFirstReportAfter) {}

  // Lengthens the wait if `signs` show that the set of processes will change. A lengthened wait stays long
  // even if the signs disappear, because the report of a change may still arrive.
  void note(const ChangeSigns& signs) {
    signs_ = signs;
    was_change_expected_ = was_change_expected_ || !signs.expected_change_reason.empty();
  }
  // Returns whether to report the wait: after ten seconds, and then every minute.
  [[nodiscard]] bool is_report_due(Timestamp now);
  // Returns a text such as "waits up to 60 s for a report that the set of processes has changed", and why a
  // change is expected.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is_over(Timestamp now) const { return now - began_ >= patience(); }
  // Returns whether there is a coordinator that has not answered since the wait began.
  [[nodiscard]] bool was_coordinator_silent() const {
    return signs_.coordinator_answered_at && *signs_.coordinator_answered_at < began_;
  }
  [[nodiscard]] Duration patience() const {
    return was_change_expected_ ? kTimeoutBeforeChange : kUsualTimeout;
  }

 private:
  static constexpr Duration kUsualTimeout = std::chrono::seconds(60);
  static constexpr Duration kTimeoutBeforeChange = std::chrono::seconds(100);
  static constexpr Duration kFirstReportAfter = std::chrono::seconds(10);
  static constexpr Duration kReportInterval = std::chrono::minutes(1);

  Timestamp began_;
  Timestamp next_report_at_;
  ChangeSigns signs_;
  bool was_change_expected_ = false;
};

}  // namespace ratoon::session
