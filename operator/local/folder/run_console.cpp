#include "operator/local/folder/run_console.h"

#include <chrono>

#include "base/contract/resume_point.h"
#include "base/core/lists.h"
#include "operator/local/folder/last_lines.h"

namespace ratoon::local {
namespace {

constexpr Duration kLongWait = std::chrono::seconds(10);
constexpr std::size_t kLastLinesMax = 10;

}  // namespace

void RunConsole::tell_checkpoint(const api::TrainingJobStatus& before,
                                 const api::TrainingJobStatus& next) const {
  const auto& saved = next.last_checkpoint;
  if (saved && (!before.last_checkpoint || is_newer(*saved, *before.last_checkpoint)))
    print_("checkpoint of step " + std::to_string(saved->step.value()) + " is durable (attempt " +
           std::to_string(saved->attempt.value()) + ")");
}

// Reports that the job waits for its next world, but only if that takes long and it is not suspended.
void RunConsole::tell_long_wait(const api::TrainingJobStatus& before, const api::TrainingJobStatus& next,
                                const std::vector<std::string>& without_node) {
  const bool is_waiting = !next.is_formed && next.phase != api::JobPhase::kSuspended;
  if (!is_waiting || next.message != before.message) waiting_since_ = clock_.now();
  if (clock_.now() - waiting_since_ < kLongWait) return;
  const std::string nodes =
      without_node.empty() ? "" : "; no node is left for " + join(without_node, ", ") + " until one comes";
  print_("still waiting: " + next.message + nodes + "; logs are in " + logs_.pattern);
  waiting_since_ = clock_.now();
}

bool RunConsole::tell_event(const std::string& message) {
  const bool is_news = message != last_event_;
  if (is_news) print_(message);
  last_event_ = message;
  return is_news;
}

void RunConsole::print_last_lines(const api::MemberFailure& failure) {
  if (!logs_.repeats_last_lines || failure.time < began_ || failure.last_lines.empty()) return;
  print_("the last lines of " + failure.member + ":");
  for (const auto& line : last_lines_in(failure.last_lines, kLastLinesMax)) print_("  " + line);
  told_ = failure;
}

void RunConsole::tell_first_failure(const api::TrainingJobStatus& status) {
  if (!told_ && status.last_failure) print_last_lines(*status.last_failure);
}

void RunConsole::tell_failure(const api::TrainingJobStatus& status) {
  if (status.last_failure && status.last_failure != told_) print_last_lines(*status.last_failure);
  print_("what the members printed: " + logs_.pattern);
}

void RunConsole::tell_stop(const api::TrainingJobStatus& status) const {
  const auto& saved = status.last_checkpoint;
  print_("stopped at step " + std::to_string(status.step.value()) + "; the same command goes on from " +
         (saved ? "step " + std::to_string(saved->step.value())
                : std::string("the beginning: no checkpoint was saved yet")));
}

}  // namespace ratoon::local
