#include "agent/src/session/rendezvous/world_wait.h"

#include <algorithm>
#include <chrono>

namespace ratoon::session {
namespace {

constexpr Duration kPauseMin = std::chrono::milliseconds(200);
constexpr Duration kPauseMax = std::chrono::seconds(10);
constexpr std::uint32_t kDoublingsMax = 10;
constexpr Duration kWordAgain = std::chrono::minutes(1);

}  // namespace

void WorldWait::begin(Timestamp now) {
  if (began_) return;
  began_ = now;
  next_word_ = now + first_word_;
}

bool WorldWait::is_report_due(Timestamp now) {
  if (!began_ || now < next_word_) return false;
  next_word_ = now + kWordAgain;
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
