// Ledger: where the wall time of a run went. Whole nanoseconds, each in exactly one part: the parts sum to
// the whole, whatever is entered in whatever order.
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

// New parts go at the end: their numbers order what is shown.
enum class Part {
  kUseful,              // steps and what is around them, the first time
  kRecomputed,          // steps and validations that had been done before a loss
  kSaveStall,           // training waited for a save
  kDataWait,            // training waited for samples
  kWaitingForCapacity,  // too few members for a world
  kRestarting,  // between two worlds: from a loss to the first step after it, and while no process was
  kHung,        // somebody stopped, and the others waited for it
  kValidation,
};
inline constexpr std::size_t kParts = 8;

// As metrics and the history have it: "useful", "save_stall".
[[nodiscard]] std::string_view name_of(Part part);

// So much in each part. A value; it is in the checkpoint and in the history.
class Account {
 public:
  [[nodiscard]] Duration of(Part part) const { return parts_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] Duration total() const;
  // Nothing, where `time` is less than nothing.
  [[nodiscard]] Account plus(Part part, Duration time) const;
  [[nodiscard]] Account plus(const Account& other) const;

  friend bool operator==(const Account&, const Account&) = default;

 private:
  std::array<Duration, kParts> parts_{};
};

class Ledger {
 public:
  // In kRestarting at first. `before` is what earlier attempts left, and the time since the last of them.
  explicit Ledger(Timestamp began, const Account& before = {});

  // From `at` on, time is of this part. A moment that lies before one already told counts as that one: what
  // is booked stays booked.
  void enter(Part part, Timestamp at);
  // What runs since `since`, or since enter() if that is later, was this part all along and still is: a hang
  // is known only when it has lasted a while.
  void reclassify(Part part, Timestamp since, Timestamp at);

  [[nodiscard]] Part part() const { return part_; }
  // With what runs, up to `at`. total() of it is at - began, and what was before.
  [[nodiscard]] Account account(Timestamp at) const;

 private:
  Account booked_;
  Part part_ = Part::kRestarting;
  Timestamp entered_;
};

// A step counts once in the committed history: up to the newest that was reached before a loss, steps are
// made again. `step` is how many are in the weights when it begins.
[[nodiscard]] Part part_of_step(std::uint64_t step, std::uint64_t newest_step_before);
// The same of a validation after `step` steps; nullopt: there was none before.
[[nodiscard]] Part part_of_validation(std::uint64_t step,
                                      std::optional<std::uint64_t> newest_validated_before);

// Between the last word of the attempts before and now. The wall's clock may jump: never less than nothing.
[[nodiscard]] Duration downtime(WallTime last_word, WallTime now);

}  // namespace ratoon::session
