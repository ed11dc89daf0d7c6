#include "agent/src/session/rendezvous/world_wait.h"

#include <algorithm>
#include <chrono>

namespace ratoon::session {
namespace {

constexpr Duration kPauseMin = std::chrono::milliseconds(200);
constexpr Duration kPauseMax = std::chrono::seconds(10);
constexpr std::uint32_t kDoublingsMax = 10;
constexpr Duration kReportInterval = std::chrono::minutes(1);

}  // namespace

void WorldWait::begin(Timestamp now) {
  if (began_) return;
  began_ = now;
  next_report_at_ = now + first_report_after_;
}

bool WorldWait::is_report_due(Timestamp now) {
  if (!began_ || now < next_report_at_) return false;
  next_report_at_ = now + kReportInterval;
  return true;
}

Duration WorldWait::waited(Timestamp now) const {
  return began_ ? now - *began_ : Duration(0);
}

Duration WorldWait::pause_after_failure() {
  const std::uint32_t doublings = std::min(failures_++, kDoublingsMax);
  return std::min(kPauseMax, kPauseMin * (1 << doublings));
}

}  // namespace ratoon::session
