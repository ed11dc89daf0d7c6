// What was reported and how fast steps were made, over the time of the run.
#pragma once

#include <string>
#include <vector>

#include "cli/report/report.h"

namespace ratoon::cli {

inline constexpr std::size_t kColumns = 600;  // of a curve: what a screen can show

// One line a stretch of an attempt that is, or is not, in the weights. Times count from `began`.
[[nodiscard]] Curve make_curve(const std::string& name, const std::vector<PastRow>& rows, double began,
                               double length);

// Steps a second in each of 150 parts of the time, none between worlds. What is known of steps are moments;
// between two of one attempt they were made evenly.
[[nodiscard]] std::vector<Point> make_rate(const std::vector<PastRow>& steps, double began, double length);

}  // namespace ratoon::cli
