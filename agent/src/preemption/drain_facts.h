// SaveSpeeds: what the last saves and steps took, as plan_drain() wants to know it; and next_in_drain(), what
// its plan means for the step that ends. Pure.
//
//   speeds.note_step(took);  speeds.note_save(stall);  speeds.note_commit(until_it_was_durable);
//   const auto next = next_in_drain(speeds.facts(left, has_saved), can_be_replaced);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "agent/src/preemption/drain_plan.h"
#include "base/core/clock.h"

namespace ratoon::preemption {

// The longest of the last few.
class LongestOfLate {
 public:
  void note(Duration took) { last_[next_++ % last_.size()] = took; }
  [[nodiscard]] Duration longest() const;

 private:
  std::array<Duration, 8> last_{};
  std::size_t next_ = 0;
};

class SaveSpeeds {
 public:
  void set_state_bytes(std::uint64_t bytes) { state_bytes_ = bytes; }
  void note_step(Duration took) { steps_.note(took); }
  void note_save(Duration stall) { stalls_.note(stall); }
  // From when the save was asked for, the commit of all ranks included.
  void note_commit(Duration until_durable) { writes_.note(until_durable); }
  void set_staged(bool is_staged) { is_staged_ = is_staged; }

  [[nodiscard]] DrainFacts facts(Duration left, bool has_saved) const;
  [[nodiscard]] Duration longest_commit() const { return writes_.longest(); }
  // Of a save, from when it is asked for to its commit. Where none was measured, on a slow disk.
  [[nodiscard]] Duration until_durable() const;

 private:
  std::uint64_t state_bytes_ = 0;
  LongestOfLate steps_;
  LongestOfLate stalls_;
  LongestOfLate writes_;
  bool is_staged_ = false;
};

enum class DrainStep {
  kTrainOn,
  kSave,          // and train on
  kSaveAndLeave,  // it is the last that fits, and nobody will come in our place
  kLeave,         // the margin has begun
};

// `can_be_replaced`: somebody may join in our place before the end; then training goes on also after the last
// save.
[[nodiscard]] DrainStep next_in_drain(const DrainFacts& facts, bool can_be_replaced);

}  // namespace ratoon::preemption
