// All that a run's folder holds, read and not changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/manifest.h"
#include "agent/src/checkpoint/pins.h"

namespace ratoon::cli {

enum class Standing {
  kComplete,    // committed; its packs are looked at by `verify`
  kDamaged,     // its manifest is not what was written, or a pack that it names is gone
  kUnreadable,  // the disk refuses its manifest
  kSetAside,    // a run found it bad: its manifest is in quarantine
};

// The word of tables and of --json: "complete", "damaged", "unreadable", "set aside".
[[nodiscard]] std::string_view name_of(Standing standing);

struct FoundCheckpoint {
  checkpoint::CheckpointId id;
  Standing standing = Standing::kComplete;
  std::string why{};                               // where it is not complete
  std::string digest{};                            // of the manifest, where it is complete
  std::optional<checkpoint::Manifest> manifest{};  // where it is complete
  std::uint64_t size_bytes = 0;                    // of its packs: as committed, else as they lie there
  bool is_pinned = false;                          // somebody wants it kept
  std::string pinned_why{};                        // where it is pinned
};

// Packs without a manifest: being written at this moment, or left by a writer that died.
struct Uncommitted {
  checkpoint::CheckpointId id;
  std::uint64_t packs = 0;
  std::uint64_t size_bytes = 0;  // temporary files included
};

struct Survey {
  std::vector<FoundCheckpoint> checkpoints;  // newest first; those in quarantine after all others
  std::vector<Uncommitted> uncommitted;      // newest first
  std::vector<checkpoint::Pin> lone_pins;    // newest first; of checkpoints that are not among them
};

[[nodiscard]] Result<Survey> take_survey(const checkpoint::Disk& disk);

// Those that the command line names: none of the two names the newest. kNotFound says which there are,
// kCorrupted that there are only bad ones.
struct Wish {
  std::optional<std::uint64_t> step{};
  std::optional<std::uint64_t> attempt{};
};
[[nodiscard]] Result<const FoundCheckpoint*> choose(const Survey& survey, const Wish& wish);

// "step 1200 of attempt 3"
[[nodiscard]] std::string shown(const checkpoint::CheckpointId& id);

// Bytes of the files of ours in one checkpoint's folder of packs.
[[nodiscard]] Result<Uncommitted> measure_packs(const checkpoint::Disk& disk,
                                                const checkpoint::CheckpointId& id);

}  // namespace ratoon::cli
