// Ledger: how the wall time of a run was spent. The unit is whole nanoseconds, and each is in exactly one
// part: the parts sum to the whole, for every order of entries.
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

// New parts are added at the end: their numbers are the order in which they are shown.
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

// Names of parts in metrics and the history: "useful", "save_stall".
[[nodiscard]] std::string_view name_of(Part part);

// The time of each part. A Ledger is a value; it is in the checkpoint and in the history.
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
  // Begins in kRestarting. `before` is the account of earlier attempts, including the time since the last of
  // them.
  explicit Ledger(Timestamp began, const Account& before = {});

  // From `at` on, time counts for this part. A time before that of an earlier call counts as the time of that
  // call: booked time stays booked.
  void enter(Part part, Timestamp at);
  // The time since `since`, or since enter() if that is later, belongs to this part: a hang is known only
  // after it has lasted a while.
  void reclassify(Part part, Timestamp since, Timestamp at);

  [[nodiscard]] Part part() const { return part_; }
  // The result includes the current part, up to `at`. The total() of the result is at - began, plus the total
  // before.
  [[nodiscard]] Account account(Timestamp at) const;

 private:
  Account booked_;
  Part part_ = Part::kRestarting;
  Timestamp entered_;
};

// A step counts once in the committed history: up to the newest step that was reached before a loss, steps
// are repeated. `step` is the number of steps in the weights when the part begins.
[[nodiscard]] Part part_of_step(std::uint64_t step, std::uint64_t newest_step_before);
// Returns the part for a validation after `step` steps; nullopt: there was no validation before.
[[nodiscard]] Part part_of_validation(std::uint64_t step,
                                      std::optional<std::uint64_t> newest_validated_before);

// The time between the last record of earlier attempts and now. The wall clock may jump: the result is never
// negative.
[[nodiscard]] Duration downtime(WallTime last_word, WallTime now);

}  // namespace ratoon::session
