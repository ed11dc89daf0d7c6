#include "agent/src/session/engine/change_report_wait.h"

namespace ratoon::session {

bool ChangeReportWait::is_report_due(Timestamp now) {
  if (now < next_report_at_) return false;
  next_report_at_ = now + kReportInterval;
  return true;
}

std::string ChangeReportWait::text() const {
  return "waits up to " + std::to_string(patience() / std::chrono::seconds(1)) +
         " s for a report that the set of processes has changed" +
         (signs_.expected_change_reason.empty() ? "" : ": " + signs_.expected_change_reason);
}

}  // namespace ratoon::session
