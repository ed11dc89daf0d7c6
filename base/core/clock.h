// Time as an argument: code that waits or measures is given a Clock, and a test moves a ManualClock by hand.
#pragma once

#include <chrono>
#include <compare>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

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

// A moment of the calendar, for people and other machines. Never subtract two such moments to measure: clocks
// jump.
struct WallTime {
  Duration since_epoch{0};

  friend auto operator<=>(const WallTime&, const WallTime&) = default;
};

[[nodiscard]] constexpr double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}
// Converts to the nearest nanosecond, at most 146 years to either side; NaN becomes zero.
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

// ManualClock stands still until a test moves it. Safe to use from several threads.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Timestamp start = {}, WallTime wall_start = {}) : now_(start), wall_now_(wall_start) {}

  [[nodiscard]] Timestamp now() const override;
  [[nodiscard]] WallTime wall_now() const override;
  void advance(Duration by);

 private:
  mutable std::mutex mutex_;
  Timestamp now_;      // guarded by mutex_
  WallTime wall_now_;  // guarded by mutex_
};

// "2026-11-21T11:38:21.250Z", the form of Kubernetes and of our logs.
[[nodiscard]] std::string format_rfc3339(WallTime t);
// Takes what format_rfc3339 writes and the same without a fraction; nothing for anything else.
[[nodiscard]] std::optional<WallTime> parse_rfc3339(std::string_view text);

}  // namespace ratoon
