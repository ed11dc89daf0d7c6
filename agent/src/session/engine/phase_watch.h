// PhaseWatch decides how long a process may be in one phase of a step, such as the wait for data, before it
// counts as hung. The time limit is computed from the usual duration of the phase. The code in
// operator/core/loss/hang.h compares the phases of all ranks and decides which rank hangs.
//
//   PhaseWatch watch({});                             // of one attempt
//   watch.enter(ProcessPhase::kCompute, Step(7), now);
//   beat.allowed_seconds = watch.phase_time_limit();  // from here on
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::session {

struct HangLimits {
  Duration limit_min = std::chrono::seconds(30);
  double median_factor = 10;
  // A phase that was not measured often enough has the time limit `unmeasured_limit`. This limit is long,
  // because a phase that occurs rarely may take long.
  Duration unmeasured_limit = std::chrono::minutes(10);
  // The time limit of the save phase is at least save_limit_min, because calls of a disk or store have
  // timeouts of their own.
  Duration save_limit_min{0};
  // `fixed` is the time limit that --hang-after sets. It replaces the computed limits.
  std::optional<Duration> fixed{};
  bool is_off = false;
};

// Computes the limits from the options --hang-after and --disk-timeout. An error kInvalid names the option
// that has a wrong value.
[[nodiscard]] Result<HangLimits> read_hang_limits(const Options& options);

// Only the training thread calls enter(), at each change of phase.
class PhaseWatch {
 public:
  static constexpr std::size_t kMeasuredStepsMax = 31;  // the latest steps with the phase that are kept
  static constexpr std::size_t kMeasuredStepsMin = 5;

  explicit PhaseWatch(const HangLimits& limits) : limits_(limits) {}

  // Records that the process has been in `phase` since the time `at`, after `step` completed steps. Another
  // call of enter() with the same phase restarts the phase's time limit.
  void enter(ProcessPhase phase, Step step, Timestamp at);

  // Records that only the program knows where its loop ends, so that its work after the loop cannot be
  // distinguished from a long step. After note_unknown_end(), the time limit of the phase kCompute is at
  // least `unmeasured_limit`.
  void note_unknown_end() { has_unknown_end_ = true; }

  // Returns the time limit of the current phase, counted from the last enter(); nullopt if the phase has no
  // limit. The first step of an attempt has no limit, because it may compile code, connect ranks and fill
  // caches. The load of a checkpoint and a validation that the program announced have no time limit.
  [[nodiscard]] std::optional<Duration> phase_time_limit() const;

 private:
  // RecentDurations has the longest duration of a phase in each of the last steps.
  struct RecentDurations {
    std::array<Duration, kMeasuredStepsMax> durations{};
    std::size_t count = 0;  // of all recorded steps; the newest overwrites the oldest
  };
  static constexpr std::size_t kPhases = static_cast<std::size_t>(ProcessPhase::kUser) + 1;

  void record_durations();
  [[nodiscard]] Duration limit_from_durations() const;

  HangLimits limits_;
  std::array<RecentDurations, kPhases> recent_durations_{};
  std::array<std::optional<Duration>, kPhases> longest_in_step_{};  // of the current step
  bool has_stepped_ = false;
  bool has_unknown_end_ = false;
  ProcessPhase phase_ = ProcessPhase::kJoining;
  Step step_{0};
  Timestamp phase_since_;
};

}  // namespace ratoon::session
