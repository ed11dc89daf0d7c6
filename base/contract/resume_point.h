// The one checkpoint that all ranks of the next attempt load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/contract/messages.h"

namespace ratoon {

// Stands for the digest of an incomplete entry that a rollback of its run gave up: such an entry is no longer
// a checkpoint, even if its files exist.
inline constexpr const char* kGivenUp = "given up";

// Whether every member can reach the checkpoint, on any machine.
[[nodiscard]] bool is_shared(const InventoryEntry& entry);

// Checks that all joiners have the same rollback request: else each would resume somewhere else. Returns an
// empty string, or the sentence that names the ranks that differ.
[[nodiscard]] std::string find_rollback_dispute(const std::vector<JoinRequest>& joiners);

// The newest complete checkpoint that every joiner can reach: a checkpoint on a shared tier that any joiner
// saw, or one that all joiners hold. Newer attempts come first, even at a smaller step: a process left over
// from an older attempt may have run ahead. A joiner made its list before it began to wait, so checkpoints
// that any process of the job has seen committed on a shared tier since then (`until_now`) count too.
[[nodiscard]] std::optional<ResumePoint> pick_resume_point(const std::vector<JoinRequest>& joiners,
                                                           const std::vector<InventoryEntry>& until_now);

// Orders by a run's lineage: any checkpoint of a newer attempt is newer.
[[nodiscard]] bool is_newer(const ResumePoint& one, const ResumePoint& other);

// Pure. Whether a run can have ended with `last` if this checkpoint was seen committed: no checkpoint of an
// attempt is committed after its run's last step, and one name has one digest. A checkpoint of another
// attempt does not contradict `last`.
[[nodiscard]] bool may_be_last(const ResumePoint& last, Attempt attempt, Step step,
                               const std::string& digest);

}  // namespace ratoon
