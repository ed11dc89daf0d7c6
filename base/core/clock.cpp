#include "base/core/clock.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace ratoon {

Duration from_seconds(double s) {
  // Half of what fits (146 years), so that adding it to a Timestamp cannot overflow either.
  constexpr Duration kForever = Duration::max() / 2;
  if (std::isnan(s)) return Duration::zero();
  if (s >= seconds(kForever)) return kForever;
  if (s <= -seconds(kForever)) return -kForever;
  return Duration(std::llround(s * 1e9));
}

Timestamp SystemClock::now() const {
  return {std::chrono::steady_clock::now().time_since_epoch()};
}

WallTime SystemClock::wall_now() const {
  return {std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch())};
}

Timestamp ManualClock::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

WallTime ManualClock::wall_now() const {
  const std::lock_guard lock(mutex_);
  return wall_now_;
}

void ManualClock::advance(Duration by) {
  const std::lock_guard lock(mutex_);
  now_ = now_ + by;
  wall_now_.since_epoch += by;
}

std::string format_rfc3339(WallTime t) {
  // Floor, so that moments before 1970 keep a non-negative millisecond part.
  const auto millis = std::chrono::floor<std::chrono::milliseconds>(t.since_epoch);
  const auto whole = std::chrono::floor<std::chrono::seconds>(millis);
  const std::time_t whole_seconds = whole.count();
  std::tm parts{};
  gmtime_r(&whole_seconds, &parts);
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>((millis - whole).count()));
  return text.data();
}

}  // namespace ratoon
