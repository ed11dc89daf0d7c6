// Converts values to coordinates of a drawing that is 1000 units wide, and chooses round numbers for its
// scales.
#pragma once

#include <string>
#include <vector>

#include "cli/report/report.h"

namespace ratoon::cli {

inline constexpr double kPlotLeft = 92;  // names and numbers are left of it
inline constexpr double kPlotRight = 992;

// The horizontal time axis, which is the same in all drawings of a report.
struct TimeAxis {
  double length = 0;
  [[nodiscard]] double x(double at) const {
    return kPlotLeft + (length > 0 ? at / length : 0) * (kPlotRight - kPlotLeft);
  }
};

struct ValueAxis {
  double low = 0;
  double high = 1;
  double top = 0;
  double bottom = 1;
  [[nodiscard]] double y(double value) const {
    return bottom - (value - low) / (high - low) * (bottom - top);
  }
};

// Returns round numbers from `low` to `high`, about `wanted` of them, at least two.
[[nodiscard]] std::vector<double> value_ticks(double low, double high, int wanted);
// Returns round whole numbers from 0 to `last`, about `wanted` of them.
[[nodiscard]] std::vector<double> count_ticks(double last, int wanted);
// Returns round numbers of seconds: 1, 2, 5, 10, 15, 30, then minutes and hours.
[[nodiscard]] std::vector<double> time_ticks(double length);

// Returns an axis that covers all values with a margin; the axis is never empty.
[[nodiscard]] ValueAxis axis_around(const Curve& curve, double top, double bottom);

}  // namespace ratoon::cli
