// This folder: drawing. A report as one page that needs no network and no script. The page is well-formed XML
// as well as HTML. All text from a run's files is escaped.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/report/report.h"

namespace ratoon::cli {

[[nodiscard]] std::string render_page(const Report& report);

// Returns the same report in numbers, without the curves. docs/train/report.md lists its fields.
[[nodiscard]] nlohmann::json report_json(const Report& report);

// The reported values, one per row: time,attempt,step,kept,name,value.
[[nodiscard]] std::string history_csv(const AttemptHistory& history);

}  // namespace ratoon::cli
