#include "cli/report/write_report.h"

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <ratoon/atomic_file.h>

#include "base/contract/exit_code.h"
#include "base/core/threads/ignore_signal.h"
#include "base/core/unique_fd.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/command.h"
#include "cli/report/page/render.h"
#include "cli/report/report.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

// /dev/stdout may lead to a regular file, and must not be replaced either.
bool is_pipe_or_device(const std::string& path) {
  std::error_code code;
  if (path.starts_with("/dev/") || path.starts_with("/proc/")) return true;
  const auto there = std::filesystem::status(path, code);
  return std::filesystem::exists(there) && !std::filesystem::is_regular_file(there) &&
         !std::filesystem::is_directory(there);
}

// Writes into a pipe, a device or a link to them, which must not be replaced by a file.
Result<void> write_to_pipe_or_device(const std::string& path, std::string_view text) {
  const UniqueFd out(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!out.is_open()) return system_error(errno, "opening " + path);
  while (!text.empty()) {
    const ssize_t written = ::write(out.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(errno, "writing " + path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

std::string report_text(RunFacts facts, ReportFormat format) {
  if (format == ReportFormat::kCsv) return history_csv(facts.history);
  const Report report = make_report(std::move(facts));
  if (format == ReportFormat::kPage) return render_page(report);
  // Names come from files and may not be UTF-8: replace such bytes to keep the JSON valid.
  return report_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int write_report(const ReportOutput& output, const std::string& text) {
  constexpr int kDone = static_cast<int>(ExitCode::kDone);
  ignore_broken_output_signals();
  if (output.file == "-") {
    print_text(text);
    return kDone;
  }
  if (const auto is_there = check_parent_folder(output.file); !is_there)
    return print_error_and_exit_code(is_there.error());
  const bool is_replaced = !is_pipe_or_device(output.file);
  const auto written =
      is_replaced ? save_file_atomically(output.file, text) : write_to_pipe_or_device(output.file, text);
  if (!written) return print_error_and_exit_code(written.error());
  if (is_replaced && output.format == ReportFormat::kPage) print_text(output.file + "\n");
  return kDone;
}

}  // namespace ratoon::cli
