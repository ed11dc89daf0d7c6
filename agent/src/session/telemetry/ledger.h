// Ledger: records on what the wall time of a run was spent. Each nanosecond counts for exactly one Part, so
// the times of all parts always add up to the whole time.
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

// A run's time is divided into these parts. Add new parts at the end, so that the order in which the parts
// are shown does not change.
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

// Returns the name of a Part in metrics and the history, such as "useful" or "save_stall".
[[nodiscard]] std::string_view name_of(Part part);

// Account: how much time was spent on each part, such as useful steps or waiting for samples. Each checkpoint
// and the history of the run contain an Account.
class Account {
 public:
  [[nodiscard]] Duration of(Part part) const { return parts_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] Duration total() const;
  // Returns this Account with `time` added to `part`. A negative `time` adds nothing.
  [[nodiscard]] Account plus(Part part, Duration time) const;
  [[nodiscard]] Account plus(const Account& other) const;

  friend bool operator==(const Account&, const Account&) = default;

 private:
  std::array<Duration, kParts> parts_{};
};

class Ledger {
 public:
  // At first, time counts for kRestarting. `before` is the Account of earlier attempts, including the time
  // since the last attempt.
  explicit Ledger(Timestamp began, const Account& before = {});

  // From the time `at` on, time counts for `part`. If an earlier call had a later time, that time is used
  // instead of `at`, so that counted time does not change.
  void enter(Part part, Timestamp at);
  // Counts the time from `since` to `at` for `part` instead of the current part. The time before the last
  // enter() stays unchanged. From `at` on, time also counts for `part`. The session calls reclassify() after
  // a hang, because a hang is detected late.
  void reclassify(Part part, Timestamp since, Timestamp at);

  [[nodiscard]] Part part() const { return part_; }
  // Returns the Account up to the time `at`, including the time of the current part. The total() of the
  // result is the time from `began` to `at`, plus the total() of the earlier attempts.
  [[nodiscard]] Account account(Timestamp at) const;

 private:
  Account closed_account_;
  Part part_ = Part::kRestarting;
  Timestamp part_began_at_;
};

// Returns kRecomputed for a step that was made before a loss and is now repeated, and kUseful for any other
// step. `step` is the number of steps that were completed before this step.
[[nodiscard]] Part part_of_step(std::uint64_t step, std::uint64_t newest_step_before);
// Returns the part for a validation after `step` steps: kRecomputed if it repeats a validation that was made
// before a loss, otherwise kValidation. `newest_validated_before` is nullopt if no validation was made
// before.
[[nodiscard]] Part part_of_validation(std::uint64_t step,
                                      std::optional<std::uint64_t> newest_validated_before);

// Returns the time between the last record of earlier attempts and now; 0 if the wall clock was set back in
// between.
[[nodiscard]] Duration downtime(WallTime last_word, WallTime now);

}  // namespace ratoon::session
