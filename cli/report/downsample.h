// Reduces curves and bars to the resolution of a screen.
#pragma once

#include <vector>

#include "cli/report/report.h"

namespace ratoon::cli {

// Keeps the lowest and the highest point of each column (`span / columns` wide), so that no peak is lost.
// Points must be finite and in order of time. Columns begin at 0, not at the first point, so that all lines
// of a curve use the same columns.
[[nodiscard]] std::vector<CurvePoint> downsample(const std::vector<CurvePoint>& points, double span,
                                                 std::size_t columns);

// Joins adjacent bars of the same part. A bar shorter than `shortest` is added to the bar before it.
[[nodiscard]] std::vector<TimelineBar> downsample(std::vector<TimelineBar> bars, double shortest);

}  // namespace ratoon::cli
