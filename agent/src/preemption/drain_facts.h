// SaveSpeeds records how long the last saves and steps took, as input for plan_drain(). After each step,
// decide_drain_step() decides whether the process trains on, saves, or leaves. No function does I/O.
//
//   speeds.note_step(took);  speeds.note_save(stall);  speeds.note_commit(until_it_was_durable);
//   const auto next = decide_drain_step(speeds.facts(left, has_saved), can_be_replaced);
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
  void add_duration(Duration took) { recent_[next_index_++ % recent_.size()] = took; }
  [[nodiscard]] Duration longest() const;

 private:
  std::array<Duration, 8> recent_{};
  std::size_t next_index_ = 0;
};

class SaveSpeeds {
 public:
  void set_state_bytes(std::uint64_t bytes) { state_bytes_ = bytes; }
  void note_step(Duration took) { steps_.add_duration(took); }
  void note_save(Duration stall) { stalls_.add_duration(stall); }
  // `until_durable` is the time from the request for a save until all ranks' files are committed.
  void note_commit(Duration until_durable) { commit_durations_.add_duration(until_durable); }
  void set_has_staging(bool is_staged) { has_staging_ = is_staged; }

  [[nodiscard]] DrainFacts facts(Duration left, bool has_saved) const;
  [[nodiscard]] Duration longest_commit() const { return commit_durations_.longest(); }
  // Returns the expected time from the request for a save until its commit. Until a save is measured,
  // SaveSpeeds assumes a slow disk.
  [[nodiscard]] Duration expected_time_until_durable() const;

 private:
  std::uint64_t state_bytes_ = 0;
  RecentMaximum steps_;
  RecentMaximum stalls_;
  RecentMaximum commit_durations_;
  bool has_staging_ = false;
};

enum class DrainStep {
  kTrainOn,
  kSave,          // and train on
  kSaveAndLeave,  // it is the last save that fits, and no replacement will come
  kLeave,         // the margin has begun
};

// `can_be_replaced` is true if a replacement process may join the run before the deadline. In this case,
// training continues after the last save until the replacement joins.
[[nodiscard]] DrainStep decide_drain_step(const DrainFacts& facts, bool can_be_replaced);

}  // namespace ratoon::preemption
