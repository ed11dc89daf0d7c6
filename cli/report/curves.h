// Makes curves over the time of a run: values that the trainer reported, and steps per second.
#pragma once

#include <string>
#include <vector>

#include "cli/report/report.h"

namespace ratoon::cli {

inline constexpr std::size_t kCurveColumnsMax = 600;  // points of a curve that a screen can show

// Makes up to two lines for each attempt: steps that are in the weights, and steps that a later attempt
// repeated. Times are seconds after `began`, up to `length`; steps go up to `steps`.
[[nodiscard]] Curve make_curve(const std::string& name, const std::vector<HistoryRow>& rows, double began,
                               double length, std::uint64_t steps);

// Returns the steps per second in each of 150 equal parts of the run's time; 0 while no world trains. `steps`
// says when a step was reached; between two rows of an attempt, steps are distributed evenly. Returns an
// empty list if no attempt has two rows, because one step alone has no rate.
[[nodiscard]] std::vector<CurvePoint> make_rate_curve(const std::vector<HistoryRow>& steps, double began,
                                                      double length);

}  // namespace ratoon::cli
