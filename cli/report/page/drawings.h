// Makes the drawings of a report as SVG. The page contains each string unchanged, so the functions of
// drawings.h escape all text.
#pragma once

#include <string>

#include "cli/report/report.h"

namespace ratoon::cli {

// All drawings over time have the same time axis and stand below each other; lines mark losses in each.
[[nodiscard]] std::string draw_curve(const Curve& curve, const Report& report);
// Draws a curve's values with the steps, not the time, on the horizontal axis.
[[nodiscard]] std::string draw_curve_by_step(const Curve& curve, const Report& report);
[[nodiscard]] std::string draw_rate(const Report& report);
[[nodiscard]] std::string draw_timeline(const Report& report);  // with the saves and the axis

[[nodiscard]] std::string draw_account(const Report& report);
[[nodiscard]] std::string draw_recovery(const Recovery& recovery, double longest);

// Returns the CSS class for the colour of a part of the time; unknown names share one class.
[[nodiscard]] std::string colour_of(const std::string& name);
// "save stall"
[[nodiscard]] std::string title_of_part(const std::string& part);

}  // namespace ratoon::cli
