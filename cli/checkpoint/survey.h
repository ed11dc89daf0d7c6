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
  std::string pinned_why{};                        // where it is pinned
};

// The packs (tensor files) of a checkpoint without a manifest: a run is writing them now, or their writer
// died.
struct Uncommitted {
  checkpoint::CheckpointId id;
  std::uint64_t packs = 0;
  std::uint64_t size_bytes = 0;  // temporary files included
};

struct Survey {
  std::vector<FoundCheckpoint> checkpoints;  // newest first; those in quarantine after all others
  std::vector<Uncommitted> uncommitted;      // newest first
  std::vector<checkpoint::Pin> lone_pins;    // newest first; their checkpoints do not exist
};

[[nodiscard]] Result<Survey> take_survey(const checkpoint::Disk& disk);

// The options --step and --attempt. choose() returns the checkpoint that they select, or the newest one if
// both are absent; kNotFound: no match (the message lists complete checkpoints); kCorrupted: only damaged
// ones match.
struct CheckpointSelection {
  std::optional<std::uint64_t> step{};
  std::optional<std::uint64_t> attempt{};
};
[[nodiscard]] Result<const FoundCheckpoint*> choose(const Survey& survey,
                                                    const CheckpointSelection& selection);

// Returns text for people, such as `step 1200 of attempt 3`.
[[nodiscard]] std::string shown(const checkpoint::CheckpointId& id);

// Returns the number and the total size of Ratoon's files in the packs folder of one checkpoint.
[[nodiscard]] Result<Uncommitted> measure_packs(const checkpoint::Disk& disk,
                                                const checkpoint::CheckpointId& id);

}  // namespace ratoon::cli
