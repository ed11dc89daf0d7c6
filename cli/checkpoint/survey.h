// Reads the contents of a run's folder (the survey) and changes nothing there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/checkpoint/retention/pins.h"

namespace ratoon::cli {

enum class CheckpointState {
  kComplete,    // committed; `verify` reads its packs
  kDamaged,     // its manifest was altered, or a pack that it names is gone
  kUnreadable,  // the disk refuses its manifest
  kSetAside,    // a run found it damaged: its manifest is in quarantine
};

// Returns the state's name for tables and --json: "complete", "damaged", "unreadable", "set aside".
[[nodiscard]] std::string_view name_of(CheckpointState standing);

struct FoundCheckpoint {
  checkpoint::CheckpointId id;
  CheckpointState standing = CheckpointState::kComplete;
  std::string why{};                               // where it is not complete
  std::string digest{};                            // of the manifest, where it is complete
  std::optional<checkpoint::Manifest> manifest{};  // where it is complete
  std::uint64_t size_bytes = 0;                    // of its packs: as committed, else as found on disk
  bool is_pinned = false;                          // retention and gc keep it
  std::string pin_reason{};                        // where it is pinned
};

// An UncommittedCheckpoint has packs (tensor files) but no manifest: a run is writing it now, or its writer
// died.
struct UncommittedCheckpoint {
  checkpoint::CheckpointId id;
  std::uint64_t packs = 0;
  std::uint64_t size_bytes = 0;  // temporary files included
};

struct Survey {
  std::vector<FoundCheckpoint> checkpoints;        // newest first; those in quarantine after all others
  std::vector<UncommittedCheckpoint> uncommitted;  // newest first
  std::vector<checkpoint::Pin> orphaned_pins;      // newest first; their checkpoints do not exist
};

[[nodiscard]] Result<Survey> take_survey(const checkpoint::Disk& disk);

// Returns the checkpoints that save_best() keeps, according to the newest complete checkpoint. Of the
// checkpoints of one value, the best one comes first. The list is empty if the program has not called
// save_best().
[[nodiscard]] std::vector<checkpoint::KeptBest> find_kept_best(const Survey& survey);

// choose_checkpoint() returns the checkpoint that the options --step and --attempt select, or the newest one
// if both are absent. It returns kNotFound if no checkpoint matches (the message lists complete ones), and
// kCorrupted if only damaged ones match.
struct CheckpointSelection {
  std::optional<std::uint64_t> step{};
  std::optional<std::uint64_t> attempt{};
};
[[nodiscard]] Result<const FoundCheckpoint*> choose_checkpoint(const Survey& survey,
                                                               const CheckpointSelection& selection);

// Returns text for people, such as `step 1200 of attempt 3`.
[[nodiscard]] std::string checkpoint_text(const checkpoint::CheckpointId& id);

// Returns the number and the total size of Ratoon's files in the packs folder of one checkpoint.
[[nodiscard]] Result<UncommittedCheckpoint> measure_packs(const checkpoint::Disk& disk,
                                                          const checkpoint::CheckpointId& id);

}  // namespace ratoon::cli
