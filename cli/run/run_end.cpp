#include "cli/run/run_end.h"

#include <charconv>
#include <chrono>

#include <ratoon/amount.h>

#include "base/contract/names.h"
#include "operator/local/folder/trainer_option.h"

namespace ratoon::cli {
namespace {

namespace env = names::env;

constexpr Duration kTimeLimitMax = std::chrono::hours(24 * 365);  // as the trainer has it
constexpr std::int64_t kYear2100 = 4'102'444'800;                 // seconds since 1970

std::optional<local::RunEnd> find_time_limit(const api::TrainingJob& job, const RunBeginning& beginning) {
  auto text = local::find_trainer_option(job, {.flag = "--time-limit", .variable = env::kTimeLimit});
  if (!text) text = beginning.variable(env::kTimeLimit);
  const auto limit = parse_amount(text.value_or(""));
  if (!limit || limit->unit != CountedIn::kTime) return std::nullopt;
  const Duration allowed(static_cast<Duration::rep>(limit->period.count));
  if (allowed > kTimeLimitMax) return std::nullopt;
  return local::RunEnd{.at = beginning.at + allowed, .reason = "the time limit of " + text_of(*limit)};
}

std::optional<local::RunEnd> find_end_of_slurm_job(const RunBeginning& beginning) {
  const std::string text = beginning.variable(env::kSlurmJobEndTime).value_or("");
  std::int64_t end = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), end);
  if (code != std::errc() || stop != text.data() + text.size() || end <= 0 || end > kYear2100)
    return std::nullopt;
  const Duration left = Duration(std::chrono::seconds(end)) - beginning.wall_time.since_epoch;
  return local::RunEnd{.at = beginning.at + left, .reason = "the end of the Slurm job"};
}

}  // namespace

std::optional<local::RunEnd> find_run_end(const api::TrainingJob& job, const RunBeginning& beginning) {
  if (!api::reports_steps(job.spec)) return std::nullopt;
  auto limit = find_time_limit(job, beginning);
  auto of_slurm = find_end_of_slurm_job(beginning);
  if (!limit || (of_slurm && of_slurm->at < limit->at)) return of_slurm;
  return limit;
}

}  // namespace ratoon::cli
