// Writes a report as a page, as JSON or as CSV, to a file or to standard output.
#pragma once

#include <string>

#include "cli/report/facts/run_facts.h"

namespace ratoon::cli {

enum class ReportFormat { kPage, kJson, kCsv };

struct ReportOutput {
  ReportFormat format = ReportFormat::kPage;
  std::string file{};  // '-' is standard output
};

[[nodiscard]] std::string report_text(RunFacts facts, ReportFormat format);

// Writes the text; if it is a page in a file, prints the file's name. Returns the exit code of the command.
[[nodiscard]] int write_report(const ReportOutput& output, const std::string& text);

}  // namespace ratoon::cli
