#include "base/core/clock.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace ratoon {

Duration from_seconds(double s) {
  // kForever is 146 years, half of the greatest Duration, so that a Timestamp plus kForever cannot overflow.
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
  const MutexLock lock(mutex_);
  return now_;
}

WallTime ManualClock::wall_now() const {
  const MutexLock lock(mutex_);
  return wall_now_;
}

void ManualClock::advance(Duration by) {
  const MutexLock lock(mutex_);
  now_ = now_ + by;
  wall_now_.since_epoch += by;
}

std::string format_rfc3339(WallTime t) {
  // Rounds down, so that moments before 1970 keep a non-negative millisecond part.
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

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  // In `pattern`, the character 0 matches any digit, and any other character matches only itself.
  const auto fits = [](std::string_view part, std::string_view pattern) {
    return part.size() == pattern.size() &&
           std::equal(part.begin(), part.end(), pattern.begin(), [](char found, char expected) {
             return expected == '0' ? found >= '0' && found <= '9' : found == expected;
           });
  };
  constexpr std::string_view kUntilSeconds = "0000-00-00T00:00:00";
  if (!fits(text.substr(0, kUntilSeconds.size()), kUntilSeconds)) return std::nullopt;
  const auto number = [&](std::size_t begin, std::size_t size) {
    int value = 0;
    for (const char digit : text.substr(begin, size)) value = value * 10 + (digit - '0');
    return value;
  };
  using namespace std::chrono;
  std::size_t at = kUntilSeconds.size();
  nanoseconds fraction{0};
  if (text.substr(at).starts_with('.')) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at + 1), text.size());
    if (end == at + 1) return std::nullopt;
    nanoseconds unit = 100ms;
    for (++at; at < end; ++at, unit /= 10) fraction += (text[at] - '0') * unit;
  }
  const std::string_view zone = text.substr(at);
  const bool is_offset = fits(zone, "+00:00") || fits(zone, "-00:00");
  if (!is_offset && zone != "Z" && zone != "z") return std::nullopt;
  const int offset_hours = is_offset ? number(at + 1, 2) : 0;
  const int offset_minutes = is_offset ? number(at + 4, 2) : 0;
  const year_month_day date{year(number(0, 4)), month(static_cast<unsigned>(number(5, 2))),
                            day(static_cast<unsigned>(number(8, 2)))};
  const int hour = number(11, 2);
  const int minute = number(14, 2);
  const int second = number(17, 2);
  // A signed 64-bit number of nanoseconds since 1970 reaches until the year 2262.
  const bool is_countable = number(0, 4) >= 1970 && number(0, 4) < 2262;
  const bool is_time =
      hour <= 23 && minute <= 59 && second <= 59 && offset_hours <= 23 && offset_minutes <= 59;
  if (!is_countable || !date.ok() || !is_time) return std::nullopt;
  const auto ahead = (hours(offset_hours) + minutes(offset_minutes)) * (zone.front() == '-' ? -1 : 1);
  return WallTime{sys_days(date).time_since_epoch() + hours(hour) + minutes(minute) +
                  std::chrono::seconds(second) + fraction - ahead};
}

}  // namespace ratoon
