#include "cli/report/write_report.h"

#include <utility>

#include <nlohmann/json.hpp>

#include <ratoon/atomic_file.h>

#include "base/contract/exit_code.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/command.h"
#include "cli/report/page/render.h"
#include "cli/report/report.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {

std::string report_text(RunFacts facts, ReportFormat format) {
  if (format == ReportFormat::kCsv) return history_csv(facts.history);
  const Report report = make_report(std::move(facts));
  if (format == ReportFormat::kPage) return render_page(report);
  // Names come from files and may not be UTF-8: replace such bytes to keep the JSON valid.
  return report_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int write_report(const ReportOutput& output, const std::string& text) {
  constexpr int kDone = static_cast<int>(ExitCode::kDone);
  if (output.file == "-") {
    print_text(text);
    return kDone;
  }
  if (const auto is_there = check_folder_of(output.file); !is_there)
    return print_error_and_exit_code(is_there.error());
  const auto written = save_file_atomically(output.file, text);
  if (!written) return print_error_and_exit_code(written.error());
  if (output.format == ReportFormat::kPage) print_text(output.file + "\n");
  return kDone;
}

}  // namespace ratoon::cli
