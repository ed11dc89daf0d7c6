// plan_drain() decides which saves to make before a node is removed, and how long training continues. The
// plan follows from the remaining time, the sizes of the state and the staged copy, and the measured speeds
// of memory copies and disks. Each action of the plan can end before the deadline.
//
// plan_drain() is called again after every step, with new measurements, until the process ends. Training
// continues between the saves, so no training time is lost if the announced end is withdrawn later.
#pragma once

#include <cstdint>
#include <vector>

#include "base/core/clock.h"

namespace ratoon::preemption {

// The plan leaves the last kDeadlineMargin before a deadline free, because clocks differ and the end of a
// process takes time.
inline constexpr Duration kDeadlineMargin = std::chrono::seconds(2);
// `notice` is the time from a notice to its deadline. Returns the margin to keep free before the deadline:
// kDeadlineMargin, but at most a quarter of `notice`, so that time for saving remains.
[[nodiscard]] Duration margin_of(Duration notice);

// DrainFacts: the input of plan_drain(), measured on the slowest rank, because a checkpoint needs the files
// of all ranks. The speeds in DrainFacts are measured in the last saves.
struct DrainFacts {
  Duration left{0};                   // until the process is ended
  Duration margin = kDeadlineMargin;  // part of `left` that is kept free
  std::uint64_t state_bytes = 0;      // of a full save
  std::uint64_t staged_bytes = 0;     // of a staged copy that is still to be written; 0: there is none
  double copy_bytes_per_second = 0;   // into a staging slot; 0: not measured
  double disk_bytes_per_second = 0;   // to where a checkpoint outlives the node; 0: not measured
  Duration step{0};                   // the longest recent one; a save begins between two steps
  Duration commit{0};  // from the last byte of all ranks to the manifest, the longest recent one
  // has_saved says whether the process has made a save after its end was announced. If has_saved is false,
  // the plan begins with a save, because a later save may fail. If the deadline was known from the start, as
  // with a time limit, set has_saved to true.
  bool has_saved = false;
};

// Before the first measurement, plan_drain() assumes the speeds kAssumed*BytesPerSecond. The assumed speeds
// of copies and disks are so low that nearly every machine completes the plan in time.
inline constexpr double kAssumedCopyBytesPerSecond = 1e9;
inline constexpr double kAssumedDiskBytesPerSecond = 5e7;
// The plan assumes that a disk may be slower than measured by the factor kDiskSlowdownFactor.
inline constexpr double kDiskSlowdownFactor = 1.5;

enum class DrainAction {
  kFlushStaged,
  kFullSave,
  // A tried save is a full save that ends in time at the measured speed, but not if the disk is slower by
  // kDiskSlowdownFactor. If a tried save does not end in time, the run loses no more steps than without this
  // save.
  kTrySave,
};

struct DrainStage {
  DrainAction act = DrainAction::kFullSave;
  Duration begin{0};  // from now, when the save is requested; it is made after the step that then ends
  Duration end{0};    // when it is durable at the latest

  friend bool operator==(const DrainStage&, const DrainStage&) = default;
};

struct DrainPlan {
  std::vector<DrainStage> stages;  // in order; empty: nothing could end in time
  Duration leave{0};               // from now: train on until here, unless a replacement joins before

  friend bool operator==(const DrainPlan&, const DrainPlan&) = default;
};

// If there is enough time, the plan writes the staged copy (an earlier save in memory) to the disk, saves at
// once, and saves again as late as possible. If there is less time, the plan makes a full save. If a full
// save would not end in time, the plan writes the staged copy and tries a full save.
[[nodiscard]] DrainPlan plan_drain(const DrainFacts& facts);

}  // namespace ratoon::preemption
