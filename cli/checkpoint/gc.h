// Chooses and removes garbage in a run's folder, by the rules that a run itself follows (retention.h). Files
// with names that Ratoon does not use stay. The files of checkpoints that are newer than the newest complete
// checkpoint stay, too. A pinned checkpoint stays, even if the user pins it during the removal.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "cli/checkpoint/survey.h"

namespace ratoon::cli {

struct GcRules {
  std::uint64_t keep_last = 0;   // 0: every committed checkpoint stays
  std::uint64_t keep_every = 0;  // also keeps each step that is a multiple; 0: none
  bool empties_quarantine = false;
};

enum class GarbageKind { kUncommitted, kQuarantined, kRetired };

// Returns the kind's name for tables and --json: "uncommitted", "quarantined", "retired".
[[nodiscard]] std::string_view name_of(GarbageKind kind);

struct GcItem {
  GarbageKind kind = GarbageKind::kUncommitted;
  checkpoint::CheckpointId id;
  std::uint64_t size_bytes = 0;
};

struct GcPlan {
  checkpoint::CheckpointId newest;  // must verify before anything is removed
  std::vector<GcItem> items;
};

// If no checkpoint is complete, plans no removal, because quarantined checkpoints may be the only ones of the
// run.
[[nodiscard]] GcPlan plan_gc(const Survey& survey, const GcRules& rules);

// Verifies the newest checkpoint (`on_verified` gets the number of bytes read), then removes the plan's items
// and calls `on_removed` for each. If the newest checkpoint is damaged, removes nothing and returns
// kCorrupted.
[[nodiscard]] Result<void> run_gc(checkpoint::Disk& disk, const Survey& survey, const GcPlan& plan,
                                  const std::function<void(std::uint64_t)>& on_verified,
                                  const std::function<void(const GcItem&)>& on_removed);

}  // namespace ratoon::cli
