// The flags of a command that choose the format of a report.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/report/write_report.h"

namespace ratoon::cli {

struct FormatFlags {
  bool is_csv = false;
  bool is_json = false;

  [[nodiscard]] ReportFormat format() const {
    if (is_csv) return ReportFormat::kCsv;
    return is_json ? ReportFormat::kJson : ReportFormat::kPage;
  }
};

// Adds --csv and --json, which exclude each other. Returns --csv, so that further flags can exclude it.
inline CLI::Option* add_format_flags(CLI::App& command, FormatFlags& flags) {
  CLI::Option* csv =
      command.add_flag("--csv", flags.is_csv, "Write the reported values instead of the page, one per row");
  command.add_flag("--json", flags.is_json, "Write the report's numbers instead of the page, without curves")
      ->excludes(csv);
  return csv;
}

}  // namespace ratoon::cli
