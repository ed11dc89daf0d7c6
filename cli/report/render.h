// A report as one page that needs nothing else: no network, no script. It is well-formed XML as well as HTML,
// and whatever a run's files say in it is escaped.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/report/report.h"

namespace ratoon::cli {

[[nodiscard]] std::string render_page(const Report& report);

// The same in numbers, without the curves; docs/train/report.md has its fields.
[[nodiscard]] nlohmann::json report_json(const Report& report);

// What was reported, a row each: time,attempt,step,kept,name,value.
[[nodiscard]] std::string past_csv(const Past& past);

}  // namespace ratoon::cli
