#include "cli/report/downsample.h"

#include <algorithm>

namespace ratoon::cli {
namespace {

void add_column_extremes(const std::vector<CurvePoint>& points, std::size_t begin, std::size_t end,
                         std::vector<CurvePoint>& into) {
  const auto first = points.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = points.begin() + static_cast<std::ptrdiff_t>(end);
  auto [low, high] = std::minmax_element(
      first, last, [](const CurvePoint& a, const CurvePoint& b) { return a.value < b.value; });
  if (high < low) std::swap(low, high);
  into.push_back(*low);
  if (low != high) into.push_back(*high);
}

}  // namespace

std::vector<CurvePoint> downsample(const std::vector<CurvePoint>& points, double span, std::size_t columns) {
  if (points.size() <= 2 || span <= 0) return points;
  const auto column_of = [&](const CurvePoint& point) {
    const double column = point.at / span * static_cast<double>(columns);
    return static_cast<std::size_t>(std::clamp(column, 0.0, static_cast<double>(columns)));
  };
  std::vector<CurvePoint> thinned;
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin + 1;
    while (end < points.size() && column_of(points[end]) == column_of(points[begin])) ++end;
    add_column_extremes(points, begin, end, thinned);
    begin = end;
  }
  return thinned;
}

std::vector<TimelineBar> downsample(std::vector<TimelineBar> bars, double shortest) {
  std::vector<TimelineBar> thinned;
  for (TimelineBar& bar : bars) {
    if (bar.end <= bar.begin) continue;
    const bool is_seen = bar.end - bar.begin >= shortest;
    if (!thinned.empty() &&
        (!is_seen || (thinned.back().part == bar.part && thinned.back().what == bar.what))) {
      thinned.back().end = std::max(thinned.back().end, bar.end);
    } else {
      thinned.push_back(std::move(bar));
    }
  }
  return thinned;
}

}  // namespace ratoon::cli
