// Curves over the time of the run: the reported values, and steps per second.
#pragma once

#include <string>
#include <vector>

#include "cli/report/report.h"

namespace ratoon::cli {

inline constexpr std::size_t kColumns = 600;  // points of a curve that a screen can show

// Makes one line for each part of an attempt that is, or is not, in the weights. Times count from `began`,
// and end with `length`; steps end with `steps`.
[[nodiscard]] Curve make_curve(const std::string& name, const std::vector<HistoryRow>& rows, double began,
                               double length, std::uint64_t steps);

// The steps per second in each of 150 parts of the time; 0 between worlds. The data are times at which a step
// was reached; between two of them in one attempt the steps are distributed evenly.
[[nodiscard]] std::vector<CurvePoint> make_rate(const std::vector<HistoryRow>& steps, double began,
                                                double length);

}  // namespace ratoon::cli
