// What may be removed from a run's folder, and its removal. The rules are the run's own (retention.h); what
// does not bear a name of ours stays, and so does everything that is newer than the newest checkpoint. What
// is pinned stays, also where it is pinned at the last moment.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "cli/checkpoint/survey.h"

namespace ratoon::cli {

struct GcRules {
  std::uint64_t keep_last = 0;   // 0: no checkpoint that is committed goes
  std::uint64_t keep_every = 0;  // and each whose step is a multiple; 0: none
  bool empties_quarantine = false;
};

enum class Waste { kUncommitted, kQuarantined, kRetired };

// The word of tables and of --json: "uncommitted", "quarantined", "retired".
[[nodiscard]] std::string_view name_of(Waste kind);

struct GcItem {
  Waste kind = Waste::kUncommitted;
  checkpoint::CheckpointId id;
  std::uint64_t size_bytes = 0;
};

struct GcPlan {
  checkpoint::CheckpointId newest;  // what the plan rests on: it must read back before anything goes
  std::vector<GcItem> items;
};

// Nothing may go where nothing is complete: what is in quarantine says that there was something to lose.
[[nodiscard]] GcPlan plan_gc(const Survey& survey, const GcRules& rules);

// `on_removed` hears of each item that is gone. kCorrupted, and nothing is removed, where the newest
// checkpoint does not read back; `on_verified` is told of its bytes.
[[nodiscard]] Result<void> carry_out(checkpoint::Disk& disk, const Survey& survey, const GcPlan& plan,
                                     const std::function<void(std::uint64_t)>& on_verified,
                                     const std::function<void(const GcItem&)>& on_removed);

}  // namespace ratoon::cli
