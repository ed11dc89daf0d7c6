// The drawings of a report as SVG. Each drawing is a string that is put into the page unchanged: all text in
// it is escaped.
#pragma once

#include <string>

#include "cli/report/report.h"

namespace ratoon::cli {

// The drawings are stacked and share an axis of time; the lines of losses run through all of them.
[[nodiscard]] std::string draw_curve(const Curve& curve, const Report& report);
// The same values over the steps of the run.
[[nodiscard]] std::string draw_by_step(const Curve& curve, const Report& report);
[[nodiscard]] std::string draw_rate(const Report& report);
[[nodiscard]] std::string draw_timeline(const Report& report);  // with the saves and the axis

[[nodiscard]] std::string draw_account(const Report& report);
[[nodiscard]] std::string draw_recovery(const Recovery& recovery, double longest);

// Returns the CSS class for the colour of a part or a phase. Unknown names share one class.
[[nodiscard]] std::string colour_of(const std::string& name);
// "save stall"
[[nodiscard]] std::string title_of(const std::string& part);

}  // namespace ratoon::cli
