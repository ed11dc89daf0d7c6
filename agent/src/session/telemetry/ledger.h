// Ledger records how the wall time of a run was spent. Each nanosecond counts in exactly one part, so the
// parts always sum to the whole time.
//
//   Ledger ledger(began, left_behind.plus(Part::kRestarting, downtime));
//   ledger.enter(part_of_step(step, newest_step_before), at);
//   ledger.enter(Part::kSaveStall, at);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/core/clock.h"

namespace ratoon::session {

// New parts must be added at the end: the numbers of parts are the order in which they are shown.
enum class Part {
  kUseful,              // steps and the work around them, the first time
  kRecomputed,          // steps and validations that had been done before a loss
  kSaveStall,           // training waited for a save
  kDataWait,            // training waited for samples
  kWaitingForCapacity,  // too few members for a world
  kRestarting,  // between two worlds: from a loss to the first step after it, and while there was no process
  kHung,        // one rank stopped, and the others waited for it
  kValidation,
};
inline constexpr std::size_t kParts = 8;

// Returns a part's name in metrics and the history, such as "useful" or "save_stall".
[[nodiscard]] std::string_view name_of(Part part);

// The time of each part. Each checkpoint and the history contain an Account.
class Account {
 public:
  [[nodiscard]] Duration of(Part part) const { return parts_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] Duration total() const;
  // A negative `time` adds nothing.
  [[nodiscard]] Account plus(Part part, Duration time) const;
  [[nodiscard]] Account plus(const Account& other) const;

  friend bool operator==(const Account&, const Account&) = default;

 private:
  std::array<Duration, kParts> parts_{};
};

class Ledger {
 public:
  // Begins in kRestarting. `before` is the account of earlier attempts, including the time since the last
  // attempt.
  explicit Ledger(Timestamp began, const Account& before = {});

  // From `at` on, time counts for `part`. If `at` is before the time of an earlier call, the time of that
  // call is used, so time that was counted does not change.
  void enter(Part part, Timestamp at);
  // Moves the time since `since`, or since the last enter() if that is later, to this part, because a hang is
  // detected only after a while.
  void reclassify(Part part, Timestamp since, Timestamp at);

  [[nodiscard]] Part part() const { return part_; }
  // Returns the account up to `at`, including the current part. The total() of the result is `at` minus the
  // begin, plus the total() of the earlier attempts.
  [[nodiscard]] Account account(Timestamp at) const;

 private:
  Account booked_;
  Part part_ = Part::kRestarting;
  Timestamp entered_;
};

// Returns whether a step is useful or repeated: steps up to the newest step that was reached before a loss
// are repeated. `step` is the number of steps in the weights when the part begins.
[[nodiscard]] Part part_of_step(std::uint64_t step, std::uint64_t newest_step_before);
// Returns the part for a validation after `step` steps; nullopt stands for no earlier validation.
[[nodiscard]] Part part_of_validation(std::uint64_t step,
                                      std::optional<std::uint64_t> newest_validated_before);

// Returns the time between the last record of earlier attempts and now, or 0 if the wall clock was set back
// in between.
[[nodiscard]] Duration downtime(WallTime last_word, WallTime now);

}  // namespace ratoon::session
