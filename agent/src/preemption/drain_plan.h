// plan_drain() decides which saves to make before a node is removed, and how long to train on. The plan uses
// the remaining time, sizes, and the measured speeds of copies and disks. The plan begins no action that
// cannot end in time.
//
// plan_drain() is called again after every step until the process leaves. New measurements therefore change
// the plan, and a notice that is withdrawn costs nothing, because training has continued.
#pragma once

#include <cstdint>
#include <vector>

#include "base/core/clock.h"

namespace ratoon::preemption {

// This time stays unused before a deadline, because clocks differ and leaving takes time.
inline constexpr Duration kMargin = std::chrono::seconds(2);
// Returns the margin for a notice that comes `notice` before the end. The margin of a short notice is a
// quarter of the notice's time, because a replacement may come within a second.
[[nodiscard]] Duration margin_of(Duration notice);

// DrainFacts has the values of the slowest rank, because a checkpoint is complete when all ranks have
// written. The rates are measured over the last saves.
struct DrainFacts {
  Duration left{0};                  // until the process is ended
  Duration margin = kMargin;         // part of `left` that is kept free
  std::uint64_t state_bytes = 0;     // of a full save
  std::uint64_t staged_bytes = 0;    // of a staged copy that is still to be written; 0: there is none
  double copy_bytes_per_second = 0;  // into a staging slot; 0: not measured
  double disk_bytes_per_second = 0;  // to where a checkpoint outlives the node; 0: not measured
  Duration step{0};                  // the longest recent one; a save begins between two steps
  Duration commit{0};  // from the last byte of all ranks to the manifest, the longest recent one
  // Whether a save was made since this notice of the end came. If no save was made, the first save is made at
  // once, while saving still works. Pass true if the deadline was known from the start (a time limit).
  bool has_saved = false;
};

// plan_drain() assumes the rates below until a rate was measured. The assumed rates are so slow that a plan
// with them ends in time on nearly every machine.
inline constexpr double kAssumedCopyBytesPerSecond = 1e9;
inline constexpr double kAssumedDiskBytesPerSecond = 5e7;
// A disk may be slower by this factor than measured.
inline constexpr double kPessimism = 1.5;

enum class DrainAct {
  kFlushStaged,
  kFullSave,
  // A tried save is a full save that ends in time at the measured speeds, but not with kPessimism applied. If
  // the tried save does not end in time, no further step is lost.
  kTrySave,
};

struct DrainStage {
  DrainAct act = DrainAct::kFullSave;
  Duration begin{0};  // from now, when the save is requested; it is made after the step that then ends
  Duration end{0};    // when it is durable at the latest

  friend bool operator==(const DrainStage&, const DrainStage&) = default;
};

struct DrainPlan {
  std::vector<DrainStage> stages;  // in order; empty: nothing could end in time
  Duration leave{0};               // from now: train on until here, unless a replacement joins before

  friend bool operator==(const DrainPlan&, const DrainPlan&) = default;
};

// With enough time: write the staged copy, save everything at once, and save again as late as possible. With
// less time: save the newest state that fits. The newest state that fits is a full save, or else the staged
// copy and a tried save.
[[nodiscard]] DrainPlan plan_drain(const DrainFacts& facts);

}  // namespace ratoon::preemption
