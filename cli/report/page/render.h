// The folder cli/report/page/ draws a report as one page that needs no network and no script. The page is
// well-formed XML and HTML. All text from a run's files is escaped.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/report/report.h"

namespace ratoon::cli {

[[nodiscard]] std::string render_page(const Report& report);

// Returns the report's numbers as JSON, without the curves. docs/train/report.md lists the fields.
[[nodiscard]] nlohmann::json report_json(const Report& report);

// Returns the trainer's reported values as CSV, one value per row: time,attempt,step,kept,name,value.
[[nodiscard]] std::string history_csv(const AttemptHistory& history);

}  // namespace ratoon::cli
