// PhaseWatch decides how long a process may be in one phase of a step, such as the wait for data, before it
// counts as hung. The time limit is computed from the usual duration of the phase. The code in
// operator/core/loss/hang.h compares the phases of all ranks and decides which rank hangs.
//
//   PhaseWatch watch({});                             // of one attempt
//   watch.enter(ProcessPhase::kCompute, Step(7), now);
//   beat.allowed_seconds = watch.allowed();           // from here on
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
  Duration at_least = std::chrono::seconds(30);
  double times_median = 10;
  // The time limit of a phase that was not measured often enough. This limit is long, because a phase that
  // occurs rarely may take long.
  Duration unlearned = std::chrono::minutes(10);
  // The limit of the save phase is at least this long, because calls of the disk or store have their own
  // timeout.
  Duration save_at_least{0};
  // The limit in --hang-after, if set, which overrides the computed limit.
  std::optional<Duration> fixed{};
  bool is_off = false;
};

// Computes the limits from the options --hang-after and --disk-timeout. An error kInvalid names the option
// that has a wrong value.
[[nodiscard]] Result<HangLimits> read_hang_limits(const Options& options);

// Only the training thread calls enter(), at each change of phase.
class PhaseWatch {
 public:
  static constexpr std::size_t kLearned = 31;  // the latest steps with the phase that are kept
  static constexpr std::size_t kEnough = 5;

  explicit PhaseWatch(const HangLimits& limits) : limits_(limits) {}

  // Records that the process is in `phase` since the time `at`, after `step` completed steps. Another call
  // with the same phase restarts the phase's time limit.
  void enter(ProcessPhase phase, Step step, Timestamp at);

  // Records that only the program knows where its loop ends, so that its work after the loop cannot be
  // distinguished from a long step. After note_open_end(), the time limit of the phase kCompute is at least
  // `unlearned`.
  void note_open_end() { has_open_end_ = true; }

  // Returns the time limit of the current phase, counted from the last enter(); nullopt if the phase has no
  // limit. The first step of an attempt has no limit, because it may compile code, connect ranks and fill
  // caches. The load of a checkpoint, and a validation that the program announced, have no time limit either.
  [[nodiscard]] std::optional<Duration> allowed() const;

 private:
  // The longest duration of a phase in each of the last steps.
  struct Lasted {
    std::array<Duration, kLearned> durations{};
    std::size_t count = 0;  // of all recorded steps; the newest overwrites the oldest
  };
  static constexpr std::size_t kPhases = static_cast<std::size_t>(ProcessPhase::kUser) + 1;

  void learn();
  [[nodiscard]] Duration learned() const;

  HangLimits limits_;
  std::array<Lasted, kPhases> lasted_{};
  std::array<std::optional<Duration>, kPhases> longest_{};  // of the current step
  bool has_stepped_ = false;
  bool has_open_end_ = false;
  ProcessPhase phase_ = ProcessPhase::kJoining;
  Step step_{0};
  Timestamp since_;
};

}  // namespace ratoon::session
