#include "agent/src/session/engine/news_wait.h"

namespace ratoon::session {

bool NewsWait::is_report_due(Timestamp now) {
  if (now < next_word_) return false;
  next_word_ = now + kNextWord;
  return true;
}

std::string NewsWait::text() const {
  return "waits up to " + std::to_string(patience() / std::chrono::seconds(1)) +
         " s for a report that the set of processes has changed" +
         (signs_.why_near.empty() ? "" : ": " + signs_.why_near);
}

}  // namespace ratoon::session
