// PhaseWatch decides how long a process may stay in a phase of a step before it counts as hung. PhaseWatch
// learns this limit from the usual duration of the phase. operator/core/loss/hang.h compares the phases of
// all ranks and decides which rank hangs.
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
  // The limit of a phase that was not measured often enough: a rare phase may take long.
  Duration unlearned = std::chrono::minutes(10);
  // A store that is silent for a while does not count as hanging, because disk calls have their own timeout.
  Duration save_at_least{0};
  // The limit in --hang-after, if set. The user's limit overrides the learned limit.
  std::optional<Duration> fixed{};
  bool is_off = false;
};

// Reads --hang-after and --disk-timeout. An error kInvalid names the option that has a wrong value.
[[nodiscard]] Result<HangLimits> read_hang_limits(const Options& options);

// The training thread reports each change of phase.
class PhaseWatch {
 public:
  static constexpr std::size_t kLearned = 31;  // the latest steps with the phase that are kept
  static constexpr std::size_t kEnough = 5;

  explicit PhaseWatch(const HangLimits& limits) : limits_(limits) {}

  // Notes that the process is in `phase` since `at`, with `step` steps in the weights. A call with the same
  // phase again counts as a sign of life.
  void enter(ProcessPhase phase, Step step, Timestamp at);

  // Only the program knows where its loop ends, and its work after the loop looks like a long step. After
  // note_open_end(), the limit of kCompute is at least `unlearned`.
  void note_open_end() { has_open_end_ = true; }

  // Returns the limit of the current phase, counted from the last enter(); nullopt if it has none. No limit
  // applies before the first step of the attempt is made, which compiles, connects and reads cold disks.
  // Loading a checkpoint, and a validation that the program announced, have no limit either.
  [[nodiscard]] std::optional<Duration> allowed() const;

 private:
  // The longest stay in a phase in each of the last steps.
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
