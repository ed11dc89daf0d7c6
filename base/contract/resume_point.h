// The one checkpoint that all ranks of the next attempt load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/contract/messages.h"

namespace ratoon {

// Stands for the digest of an incomplete entry that a rollback of its run gave up: it is no longer a
// checkpoint, even if its files are there.
inline constexpr const char* kGivenUp = "given up";

// Whether every member can reach the checkpoint, on any machine.
[[nodiscard]] bool is_shared(const InventoryEntry& entry);

// Checks that all joiners have the same rollback request: else each would resume somewhere else. Returns an
// empty string, or the sentence that names the ranks that differ.
[[nodiscard]] std::string find_rollback_dispute(const std::vector<JoinRequest>& joiners);

// The newest complete checkpoint that every joiner can reach: one on a shared tier that any of them saw, or
// one that all of them hold. Newer attempts come first, even at a smaller step: a process left over from an
// older attempt may have run ahead. A joiner's list is as old as its wait, so checkpoints that any process of
// the job has seen committed on a shared tier since (`until_now`) count too.
[[nodiscard]] std::optional<ResumePoint> pick_resume_point(const std::vector<JoinRequest>& joiners,
                                                           const std::vector<InventoryEntry>& until_now);

// By the order of a run's lineage: any checkpoint of a newer attempt is newer.
[[nodiscard]] bool is_newer(const ResumePoint& one, const ResumePoint& other);

// Pure. Whether a run can have ended with `last` if this checkpoint was seen committed: no checkpoint of an
// attempt is committed after its run's last step, and one name has one digest. A checkpoint of another
// attempt does not contradict it.
[[nodiscard]] bool may_be_last(const ResumePoint& last, Attempt attempt, Step step,
                               const std::string& digest);

}  // namespace ratoon
