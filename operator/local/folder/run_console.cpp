#include "operator/local/folder/run_console.h"

#include <chrono>

#include "base/contract/resume_point.h"
#include "operator/local/folder/last_lines.h"

namespace ratoon::local {
namespace {

constexpr Duration kLongWait = std::chrono::seconds(10);
constexpr std::size_t kLastLinesMax = 10;

}  // namespace

void RunConsole::print_checkpoint(const api::TrainingJobStatus& before,
                                  const api::TrainingJobStatus& next) const {
  const auto& saved = next.last_checkpoint;
  if (saved && (!before.last_checkpoint || is_newer(*saved, *before.last_checkpoint)))
    print_("checkpoint of step " + std::to_string(saved->step.value()) + " is durable (attempt " +
           std::to_string(saved->attempt.value()) + ")");
}

// If the job is not suspended and has waited for its next world for kLongWait, prints why the job waits.
void RunConsole::print_long_wait(const api::TrainingJobStatus& before, const api::TrainingJobStatus& next) {
  const bool is_waiting = !next.is_world_formed && next.phase != api::JobPhase::kSuspended;
  if (!is_waiting || next.message != before.message) waiting_since_ = clock_.now();
  if (clock_.now() - waiting_since_ < kLongWait) return;
  print_("still waiting: " + next.message + "; logs are in " + logs_.pattern);
  waiting_since_ = clock_.now();
}

bool RunConsole::print_event(const std::string& message) {
  const bool is_news = message != last_event_;
  if (is_news) print_(message);
  last_event_ = message;
  return is_news;
}

void RunConsole::print_last_lines(const api::MemberFailure& failure) {
  if (!logs_.repeats_last_lines || failure.last_lines.empty()) return;
  print_("the last lines of " + failure.member + ":");
  for (const auto& line : last_lines_in(failure.last_lines, kLastLinesMax)) print_("  " + line);
  printed_failure_ = failure;
}

void RunConsole::print_first_failure(const api::TrainingJobStatus& status) {
  if (!printed_failure_ && status.last_failure) print_last_lines(*status.last_failure);
}

void RunConsole::print_failure(const api::TrainingJobStatus& status) {
  if (status.last_failure && status.last_failure != printed_failure_) print_last_lines(*status.last_failure);
  print_("the members' logs are in " + logs_.pattern);
}

void RunConsole::print_stop(const api::TrainingJobStatus& status) const {
  const auto& saved = status.last_checkpoint;
  print_("stopped at step " + std::to_string(status.step.value()) + "; the same command goes on from " +
         (saved ? "step " + std::to_string(saved->step.value())
                : std::string("the beginning: no checkpoint was saved yet")));
}

}  // namespace ratoon::local
