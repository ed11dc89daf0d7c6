// Picks the resume point: the one checkpoint that all ranks of the next attempt load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/contract/messages.h"

namespace ratoon {

// When a rollback abandons an incomplete checkpoint, it overwrites the digest in that checkpoint's entry with
// `given up`. An entry with the digest `given up` is no checkpoint, even if its files exist.
inline constexpr const char* kAbandonedDigest = "given up";

// Returns whether every member, on any machine, can read the checkpoint.
[[nodiscard]] bool is_on_shared_storage(const InventoryEntry& entry);

// Checks that all joining processes request the same rollback; otherwise they would resume from different
// steps. Returns an empty string, or an error message with the ranks whose requests differ.
[[nodiscard]] std::string find_rollback_dispute(const std::vector<JoinRequest>& joiners);

// Returns the newest complete checkpoint that every joining process can read: one that any process listed on
// shared storage, or that all processes listed. A newer attempt counts more than a larger step, because a
// process of an older attempt may have continued alone. A process lists its checkpoints before it waits to
// join, so `until_now` adds the checkpoints that were committed on shared storage since that list.
[[nodiscard]] std::optional<ResumePoint> pick_resume_point(const std::vector<JoinRequest>& joiners,
                                                           const std::vector<InventoryEntry>& until_now);

// Compares first the attempts and then the steps, so any checkpoint of a newer attempt is newer.
[[nodiscard]] bool is_newer(const ResumePoint& one, const ResumePoint& other);

// Pure. Returns whether the checkpoint `last` can be a run's final one although a checkpoint of this
// `attempt`, `step` and `digest` was committed too. `last` cannot be final if its attempt committed a
// checkpoint of a later step, or one of the same step with another digest. A checkpoint of another attempt
// does not contradict `last`.
[[nodiscard]] bool may_be_final_checkpoint(const ResumePoint& last, Attempt attempt, Step step,
                                           const std::string& digest);

}  // namespace ratoon
