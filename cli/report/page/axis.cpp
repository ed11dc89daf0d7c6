#include "cli/report/page/axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ratoon::cli {
namespace {

constexpr int kAxisNumbersMax = 50;

double tick_step(double span, int wanted) {
  const double rough = span / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

std::vector<double> multiples(double step, double low, double high) {
  std::vector<double> numbers;
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i < kAxisNumbersMax; ++i) {
    const double number = (first + i) * step;
    if (number > high + step * 1e-9) break;
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

std::vector<double> value_ticks(double low, double high, int wanted) {
  const double span = high - low;
  // Return `low` and `high`, because between two almost equal numbers there may be no round number.
  if (!(span > std::abs(high) * 1e-12) || !std::isfinite(span)) return {low, high};
  // A single round number shows no scale: search for more round numbers at smaller distances.
  for (const int more : {1, 2, 5}) {
    const auto numbers = multiples(tick_step(span, wanted * more), low, high);
    if (numbers.size() >= 2) return numbers;
  }
  return {low, high};
}

std::vector<double> count_ticks(double last, int wanted) {
  return multiples(std::max(1.0, tick_step(last, wanted)), 0, last);
}

std::vector<double> time_ticks(double length) {
  constexpr std::array kSteps = {0.1,   0.2,   0.5,   1.0,    2.0,    5.0,    10.0,    15.0,    30.0,   60.0,
                                 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21600.0, 43200.0, 86400.0};
  for (const double step : kSteps)
    if (length / step <= 12) return multiples(step, 0, length);
  return value_ticks(0, length, 10);
}

ValueAxis axis_around(const Curve& curve, double top, double bottom) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const CurveLine& line : curve.lines) {
    for (const CurvePoint& point : line.points) {
      low = std::min(low, point.value);
      high = std::max(high, point.value);
    }
  }
  if (low > high) return {.low = 0, .high = 1, .top = top, .bottom = bottom};
  // Values are limited to 1e300, because a margin around the largest doubles would overflow.
  constexpr double kLargest = 1e300;
  low = std::clamp(low, -kLargest, kLargest);
  high = std::clamp(high, -kLargest, kLargest);
  const double room = high > low ? (high - low) * 0.05 : std::max(std::abs(high) * 0.1, 1e-300);
  return {.low = low - room, .high = high + room, .top = top, .bottom = bottom};
}

}  // namespace ratoon::cli
