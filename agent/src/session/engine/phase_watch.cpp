#include "agent/src/session/engine/phase_watch.h"

#include <algorithm>
#include <string>

#include <ratoon/amount.h>

namespace ratoon::session {
namespace {

constexpr Duration kFixedLimitMin = std::chrono::seconds(1);
constexpr Duration kFixedLimitMax = std::chrono::hours(24 * 365);

bool is_before_the_loop(ProcessPhase phase) {
  return phase == ProcessPhase::kJoining || phase == ProcessPhase::kLoad;
}

}  // namespace

Result<HangLimits> read_hang_limits(const Options& options) {
  const std::string& after = options.hang.after;
  HangLimits limits;
  limits.save_limit_min = limits.limit_min + std::chrono::seconds(options.disk_timeout_seconds);
  limits.is_off = after == "off";
  if (limits.is_off || after == "auto") return limits;
  const auto amount = parse_amount(after);
  if (amount && amount->unit == CountedIn::kTime) {
    // The conversion cannot overflow, because parse_amount() refuses times that are too long for a Duration.
    const Duration fixed(static_cast<Duration::rep>(amount->period.count));
    if (fixed >= kFixedLimitMin && fixed <= kFixedLimitMax) {
      limits.fixed = fixed;
      return limits;
    }
  }
  return Error(ErrorKind::kInvalid,
               "--hang-after must be auto, off, or a time from 1s to a year, such as 90s or 5m; found '" +
                   after.substr(0, 60) + "'");
}

void PhaseWatch::record_durations() {
  for (std::size_t phase = 0; phase < kPhases; ++phase) {
    if (!longest_in_step_[phase]) continue;
    RecentDurations& lasted = recent_durations_[phase];
    lasted.durations[lasted.count % kMeasuredStepsMax] = *longest_in_step_[phase];
    ++lasted.count;
  }
  has_stepped_ = true;
}

void PhaseWatch::enter(ProcessPhase phase, Step step, Timestamp at) {
  if (is_before_the_loop(phase_)) {
    step_ = step;  // the step to resume from was not made by this attempt
  } else {
    auto& longest = longest_in_step_[static_cast<std::size_t>(phase_)];
    longest = std::max(longest.value_or(Duration(0)), at - phase_since_);
  }
  if (step != step_) {
    record_durations();
    longest_in_step_ = {};
  }
  phase_ = phase;
  step_ = step;
  phase_since_ = at;
}

Duration PhaseWatch::limit_from_durations() const {
  const RecentDurations& lasted = recent_durations_[static_cast<std::size_t>(phase_)];
  const std::size_t known = std::min(lasted.count, kMeasuredStepsMax);
  if (known < kMeasuredStepsMin) return std::max(limits_.unmeasured_limit, limits_.limit_min);
  std::array<Duration, kMeasuredStepsMax> sorted = lasted.durations;
  const auto median = sorted.begin() + static_cast<std::ptrdiff_t>(known / 2);
  std::nth_element(sorted.begin(), median, sorted.begin() + static_cast<std::ptrdiff_t>(known));
  return std::max(limits_.limit_min, from_seconds(limits_.median_factor * seconds(*median)));
}

std::optional<Duration> PhaseWatch::phase_time_limit() const {
  if (limits_.is_off || !has_stepped_ || phase_ == ProcessPhase::kValidate) return std::nullopt;
  const Duration in_step = limits_.fixed ? *limits_.fixed : limit_from_durations();
  if (has_unknown_end_ && !limits_.fixed && phase_ == ProcessPhase::kCompute)
    return std::max(in_step, limits_.unmeasured_limit);
  return phase_ == ProcessPhase::kSave ? std::max(in_step, limits_.save_limit_min) : in_step;
}

}  // namespace ratoon::session
