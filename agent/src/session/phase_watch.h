// PhaseWatch: how long a process may stand in a phase of its steps before it counts as hung, learned from how
// long it usually does. Who hangs is decided where the phases of all ranks come together:
// operator/core/hang.h.
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
  // Until enough was seen of a phase: what is rare may take long.
  Duration unlearned = std::chrono::minutes(10);
  // Calls to the disk have a patience of their own: a store that is away for a while is no hang.
  Duration save_at_least{0};
  // What a user says outweighs what is learned.
  std::optional<Duration> fixed{};
  bool is_off = false;
};

// As --hang-after and --disk-timeout have it; kInvalid names the option.
[[nodiscard]] Result<HangLimits> read_hang_limits(const Options& options);

// Told by the training thread of each change of phase.
class PhaseWatch {
 public:
  static constexpr std::size_t kLearned = 31;  // the last so many steps that had the phase
  static constexpr std::size_t kEnough = 5;

  explicit PhaseWatch(const HangLimits& limits) : limits_(limits) {}

  // From `at` on, with so many steps in the weights. The phase that runs entered once more is a sign of life.
  void enter(ProcessPhase phase, Step step, Timestamp at);

  // Where the loop ends is the program's alone to know, so that what it does behind it looks like a step that
  // takes long: no stay in kCompute is too long before what is allowed while nothing is learned.
  void note_open_end() { has_open_end_ = true; }

  // From the last enter() on; nullopt: as long as it takes. That is so before the first step of the attempt
  // is made, which compiles, connects and reads cold disks; while a checkpoint is loaded; and in a
  // validation, which the program announced.
  [[nodiscard]] std::optional<Duration> allowed() const;

 private:
  // The longest stay of each of the last steps.
  struct Lasted {
    std::array<Duration, kLearned> durations{};
    std::size_t count = 0;  // of all; the newest overwrite the oldest
  };
  static constexpr std::size_t kPhases = static_cast<std::size_t>(ProcessPhase::kUser) + 1;

  void learn();
  [[nodiscard]] Duration learned() const;

  HangLimits limits_;
  std::array<Lasted, kPhases> lasted_{};
  std::array<std::optional<Duration>, kPhases> longest_{};  // of the step under way
  bool has_stepped_ = false;
  bool has_open_end_ = false;
  ProcessPhase phase_ = ProcessPhase::kJoining;
  Step step_{0};
  Timestamp since_;
};

}  // namespace ratoon::session
