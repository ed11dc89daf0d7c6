// The drawings of a report as SVG, each a string that goes into the page as it is: every text in it is
// escaped.
#pragma once

#include <string>

#include "cli/report/report.h"

namespace ratoon::cli {

// One above the other they share an axis of time; losses go through all of them.
[[nodiscard]] std::string draw_curve(const Curve& curve, const Report& report);
[[nodiscard]] std::string draw_rate(const Report& report);
[[nodiscard]] std::string draw_timeline(const Report& report);  // with the saves, and the axis itself

[[nodiscard]] std::string draw_account(const Report& report);
[[nodiscard]] std::string draw_recovery(const Recovery& recovery, double longest);

// The class that gives a part or a phase its colour; of a name that nobody knows, one for all of them.
[[nodiscard]] std::string colour_of(const std::string& name);
// "save stall"
[[nodiscard]] std::string title_of(const std::string& part);

}  // namespace ratoon::cli
