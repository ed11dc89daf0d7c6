// Clocks as arguments: code that waits or measures time gets a Clock, and a test passes a ManualClock.
#pragma once

#include <chrono>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/threads/mutex.h"

namespace ratoon {

using Duration = std::chrono::nanoseconds;

// A moment of the machine's monotonic clock. A Timestamp is only valid within one boot of the machine.
struct Timestamp {
  Duration since_boot{0};

  friend auto operator<=>(const Timestamp&, const Timestamp&) = default;
  friend Timestamp operator+(Timestamp t, Duration d) { return {t.since_boot + d}; }
  friend Timestamp operator-(Timestamp t, Duration d) { return {t.since_boot - d}; }
  friend Duration operator-(Timestamp a, Timestamp b) { return a.since_boot - b.since_boot; }
};

// A date and time, for people and other machines. Never subtract two WallTime values to measure a duration,
// because system clocks jump.
struct WallTime {
  Duration since_epoch{0};

  friend auto operator<=>(const WallTime&, const WallTime&) = default;
};

[[nodiscard]] constexpr double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}
// Converts seconds to the nearest nanosecond, limited to 146 years in either direction; NaN becomes zero.
[[nodiscard]] Duration from_seconds(double s);

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Timestamp now() const = 0;
  [[nodiscard]] virtual WallTime wall_now() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Timestamp now() const override;
  [[nodiscard]] WallTime wall_now() const override;
};

// ManualClock stands still until a test moves it. Several threads may use a ManualClock at the same time.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Timestamp start = {}, WallTime wall_start = {}) : now_(start), wall_now_(wall_start) {}

  [[nodiscard]] Timestamp now() const override;
  [[nodiscard]] WallTime wall_now() const override;
  void advance(Duration by);

 private:
  mutable Mutex mutex_;
  Timestamp now_ RATOON_GUARDED_BY(mutex_);
  WallTime wall_now_ RATOON_GUARDED_BY(mutex_);
};

// Returns "2026-11-21T11:38:21.250Z", the format of timestamps in Kubernetes and in Ratoon's logs.
[[nodiscard]] std::string format_rfc3339(WallTime t);
// Parses an RFC 3339 time with any fraction and any offset; returns nothing for any other text.
[[nodiscard]] std::optional<WallTime> parse_rfc3339(std::string_view text);

}  // namespace ratoon
