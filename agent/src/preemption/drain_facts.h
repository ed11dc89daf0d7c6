// SaveSpeeds records how long the last saves and steps took, as input for plan_drain(). next_in_drain()
// decides, after each step, between training, saving and leaving before the process is ended. Pure.
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

// Remembers the last eight durations and returns the longest of them.
class RecentMaximum {
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
  // `until_durable` is the time from the request for a save until all ranks' files are committed.
  void note_commit(Duration until_durable) { writes_.note(until_durable); }
  void set_staged(bool is_staged) { is_staged_ = is_staged; }

  [[nodiscard]] DrainFacts facts(Duration left, bool has_saved) const;
  [[nodiscard]] Duration longest_commit() const { return writes_.longest(); }
  // Returns the expected time from the request for a save until its commit. Before the first measured save, a
  // slow disk is assumed.
  [[nodiscard]] Duration until_durable() const;

 private:
  std::uint64_t state_bytes_ = 0;
  RecentMaximum steps_;
  RecentMaximum stalls_;
  RecentMaximum writes_;
  bool is_staged_ = false;
};

enum class DrainStep {
  kTrainOn,
  kSave,          // and train on
  kSaveAndLeave,  // it is the last save that fits, and no replacement will come
  kLeave,         // the margin has begun
};

// `can_be_replaced` is true if a replacement process may join the run before the deadline. If a replacement
// may join, training continues after the last save.
[[nodiscard]] DrainStep next_in_drain(const DrainFacts& facts, bool can_be_replaced);

}  // namespace ratoon::preemption
