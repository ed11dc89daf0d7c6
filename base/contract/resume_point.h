// Picks the resume point: the one checkpoint that all ranks of the next attempt load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/contract/messages.h"

namespace ratoon {

// A rollback that gives up an incomplete checkpoint of its run writes `given up` over the digest in that
// checkpoint's entry. An entry with the digest `given up` is no checkpoint, even if its files exist.
inline constexpr const char* kGivenUp = "given up";

// Returns whether every member, on any machine, can read the checkpoint.
[[nodiscard]] bool is_shared(const InventoryEntry& entry);

// Checks that all joining processes request the same rollback; otherwise they would resume from different
// steps. Returns an empty string, or an error message with the ranks whose requests differ.
[[nodiscard]] std::string find_rollback_dispute(const std::vector<JoinRequest>& joiners);

// Returns the newest complete checkpoint that every joiner can read: either on a storage tier that all share
// and seen by one joiner, or held by all joiners. Newer attempts come first, even at a smaller step: a
// process left over from an older attempt may have run ahead. A joiner lists its checkpoints before it waits,
// so `until_now` adds the checkpoints that any process of the job saw committed on a shared tier since then.
[[nodiscard]] std::optional<ResumePoint> pick_resume_point(const std::vector<JoinRequest>& joiners,
                                                           const std::vector<InventoryEntry>& until_now);

// Compares first the attempts and then the steps: any checkpoint of a newer attempt is newer.
[[nodiscard]] bool is_newer(const ResumePoint& one, const ResumePoint& other);

// Pure. Returns whether a run can have ended with checkpoint `last` although this other checkpoint was seen
// committed: no checkpoint of the same attempt may have a later step than `last`, or the same step and
// another digest. A checkpoint of another attempt does not contradict `last`.
[[nodiscard]] bool may_be_last(const ResumePoint& last, Attempt attempt, Step step,
                               const std::string& digest);

}  // namespace ratoon
