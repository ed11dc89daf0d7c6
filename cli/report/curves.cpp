#include "cli/report/curves.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "cli/report/downsample.h"

namespace ratoon::cli {
namespace {

constexpr std::size_t kRatePoints = 150;

using PointsByLine = std::map<std::pair<std::uint64_t, bool>, std::vector<CurvePoint>>;

std::vector<CurveLine> lines_of(const PointsByLine& all, double span) {
  std::vector<CurveLine> lines;
  for (const auto& [key, points] : all)
    lines.push_back(
        {.is_kept = key.second, .attempt = key.first, .points = downsample(points, span, kCurveColumnsMax)});
  return lines;
}

// Makes the line of each attempt begin where the line of the previous attempt ends, because the steps that
// are in the weights form one history.
void join_kept_lines(PointsByLine& over_steps) {
  std::optional<CurvePoint> before;
  for (auto& [key, points] : over_steps) {
    if (!key.second || points.empty()) continue;
    if (before && before->at < points.front().at) points.insert(points.begin(), *before);
    before = points.back();
  }
}

// Distributes `steps` evenly over the time from `begin` to `end`: adds each part's share to `parts`.
void distribute_steps(double begin, double end, double steps, double part, std::vector<double>& parts) {
  const auto number = [&](double at) {
    return static_cast<std::size_t>(std::clamp(at / part, 0.0, static_cast<double>(kRatePoints - 1)));
  };
  if (end <= begin) {
    parts[number(begin)] += steps;
    return;
  }
  for (std::size_t i = number(begin); i <= number(end); ++i) {
    const double from = std::max(begin, static_cast<double>(i) * part);
    const double to = i == kRatePoints - 1 ? end : std::min(end, static_cast<double>(i + 1) * part);
    if (to > from) parts[i] += steps * (to - from) / (end - begin);
  }
}

}  // namespace

Curve make_curve(const std::string& name, const std::vector<HistoryRow>& rows, double began, double length,
                 std::uint64_t steps) {
  Curve curve{.name = name};
  PointsByLine over_time;
  PointsByLine over_steps;
  for (const HistoryRow& row : rows) {
    if (!std::isfinite(row.value)) {
      ++curve.omitted_value_count;
      continue;
    }
    const std::pair line(row.attempt, row.is_kept);
    over_time[line].push_back({row.at - began, row.value});
    over_steps[line].push_back({static_cast<double>(row.step), row.value});
  }
  for (auto& [line, points] : over_time) std::ranges::stable_sort(points, {}, &CurvePoint::at);
  curve.lines = lines_of(over_time, length);
  join_kept_lines(over_steps);
  curve.lines_by_step = lines_of(over_steps, static_cast<double>(steps));
  return curve;
}

std::vector<CurvePoint> make_rate_curve(const std::vector<HistoryRow>& steps, double began, double length) {
  if (length <= 0) return {};
  const double part = length / kRatePoints;
  std::vector<double> made(kRatePoints, 0.0);
  std::map<std::uint64_t, HistoryRow> last;  // by attempt
  for (const HistoryRow& row : steps) {
    const auto before = last.find(row.attempt);
    if (before != last.end() && row.step > before->second.step) {
      distribute_steps(before->second.at - began, row.at - began,
                       static_cast<double>(row.step - before->second.step), part, made);
    }
    last[row.attempt] = row;
  }
  std::vector<CurvePoint> rate;
  if (std::ranges::all_of(made, [](double number) { return number == 0; })) return rate;
  for (std::size_t i = 0; i < kRatePoints; ++i)
    rate.push_back({(static_cast<double>(i) + 0.5) * part, made[i] / part});
  return rate;
}

}  // namespace ratoon::cli
