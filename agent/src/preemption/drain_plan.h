// What to save before a node goes, and until when to train on: from the seconds that are left, sizes, and how
// fast copies and disks have been. Nothing is begun that cannot end.
//
// Asked again after every step until the process leaves, so that what is measured meanwhile counts, and news
// that is taken back costs nothing: training goes on to the last.
#pragma once

#include <cstdint>
#include <vector>

#include "base/core/clock.h"

namespace ratoon::preemption {

// Kept free before a deadline: clocks differ, and leaving takes time.
inline constexpr Duration kMargin = std::chrono::seconds(2);
// The same of a notice that is so long: of a short one a quarter, since a replacement may come within a
// second.
[[nodiscard]] Duration margin_of(Duration notice);

// Of the slowest rank, since a checkpoint is complete when all have written. Measured over the last saves.
struct DrainFacts {
  Duration left{0};                  // until the process is ended
  Duration margin = kMargin;         // of them, kept free
  std::uint64_t state_bytes = 0;     // of a full save
  std::uint64_t staged_bytes = 0;    // of a staged copy, still to be written; 0: none waits
  double copy_bytes_per_second = 0;  // into a staging slot; 0: not measured
  double disk_bytes_per_second = 0;  // to where a checkpoint outlives the node; 0: not measured
  Duration step{0};                  // the longest of late; a save begins between two
  Duration commit{0};                // from the last byte of all ranks to the manifest, the longest of late
  // Since this news came. Where false, the first save is made at once, before anything goes wrong; news that
  // was known from the start (a time limit) is no reason for that: say true.
  bool has_saved = false;
};

// Until a rate was measured. So slow that a plan made of them ends in time on nearly every machine.
inline constexpr double kAssumedCopyBytesPerSecond = 1e9;
inline constexpr double kAssumedDiskBytesPerSecond = 5e7;
// A disk may be slower than it was.
inline constexpr double kPessimism = 1.5;

enum class DrainAct {
  kFlushStaged,
  kFullSave,
  // A full save that ends in time as copies and disks were measured, though not where they are half as slow
  // again. One that does not end costs nothing that was not lost already.
  kTrySave,
};

struct DrainStage {
  DrainAct act = DrainAct::kFullSave;
  Duration begin{0};  // from now, when it is asked for; a save is made after the step that then ends
  Duration end{0};    // when it is durable at the latest

  friend bool operator==(const DrainStage&, const DrainStage&) = default;
};

struct DrainPlan {
  std::vector<DrainStage> stages;  // one after the other; empty: nothing could end in time
  Duration leave{0};               // from now: train on until here, unless a replacement joins before

  friend bool operator==(const DrainPlan&, const DrainPlan&) = default;
};

// With room for all: what is staged is written, all is saved at once, and saved again as late as possible.
// With less, the newest state that fits: a full save, else the staged one and a save that is tried.
[[nodiscard]] DrainPlan plan_drain(const DrainFacts& facts);

}  // namespace ratoon::preemption
