// The one checkpoint that all ranks of the next attempt load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/contract/messages.h"

namespace ratoon {

// In place of the digest of an entry that is not complete: a rollback of its run gave it up, so that it is no
// checkpoint any more, whatever lies there.
inline constexpr const char* kGivenUp = "given up";

// Whether every member can reach it, wherever it runs.
[[nodiscard]] bool is_shared(const InventoryEntry& entry);

// Whether all joiners were told the same of a rollback by hand: else each would go on somewhere else. Empty,
// or the sentence that says who differs.
[[nodiscard]] std::string find_rollback_dispute(const std::vector<JoinRequest>& joiners);

// The newest complete checkpoint that every joiner can reach: one on a shared tier that any of them saw, or
// one that all of them hold. Newer attempts come first, whatever their step: a zombie of an older attempt may
// have run ahead. A joiner's list is as old as its wait; what anybody in the job saw committed on a shared
// tier until now counts too.
[[nodiscard]] std::optional<ResumePoint> pick_resume_point(const std::vector<JoinRequest>& joiners,
                                                           const std::vector<InventoryEntry>& until_now);

// In the order of a run's lineage: whatever a newer attempt committed is newer.
[[nodiscard]] bool is_newer(const ResumePoint& one, const ResumePoint& other);

// Pure. Whether a run may have ended with `last`, where this was seen committed: nothing of an attempt is
// committed after its run's last step, and one name has one digest. Another attempt says nothing.
[[nodiscard]] bool may_be_last(const ResumePoint& last, Attempt attempt, Step step,
                               const std::string& digest);

}  // namespace ratoon
