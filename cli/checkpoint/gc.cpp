#include "cli/checkpoint/gc.h"

#include <algorithm>
#include <span>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/parts/part_files.h"
#include "agent/src/checkpoint/retention/pins.h"
#include "agent/src/checkpoint/retention/removal.h"
#include "agent/src/checkpoint/retention/retention.h"
#include "base/core/random_name.h"
#include "cli/checkpoint/verify.h"

namespace ratoon::cli {
namespace {

using checkpoint::CheckpointId;
using checkpoint::Disk;

Result<void> remove_if_exists(Disk& disk, const std::string& path) {
  auto removed = disk.remove(path);
  if (!removed && removed.error().kind() == ErrorKind::kNotFound) return {};
  return removed;
}

// RemainingFiles lists the files that a checkpoint still has. The list is complete before gc removes the
// first file. If a path contains a symbolic link, the listing fails, and gc removes no file of the
// checkpoint.
struct RemainingFiles {
  std::vector<std::string> receipts;
  std::vector<std::string> packs;
};

Result<RemainingFiles> find_remaining_files(const Disk& disk, const CheckpointId& id) {
  auto receipts = checkpoint::find_rank_files(disk, checkpoint::receipts_folder(id));
  if (!receipts) return receipts.error();
  auto packs = checkpoint::find_rank_files(disk, checkpoint::packs_folder(id));
  if (!packs) return packs.error();
  return RemainingFiles{.receipts = *std::move(receipts), .packs = *std::move(packs)};
}

Result<void> remove_files(Disk& disk, const std::string& folder, const std::vector<std::string>& files) {
  if (auto removed = checkpoint::remove_rank_files(disk, folder, files); !removed) return removed;
  // Ignore an error of remove_folder(): the folder may still have files of another program or another step.
  static_cast<void>(disk.remove_folder(checkpoint::folder_of(folder)));
  return {};
}

// Returns whether the checkpoint was removed. Removes the manifest last, because as long as it exists, the
// next gc can find out to which checkpoint the other files belong.
Result<bool> remove_quarantined(Disk& disk, const CheckpointId& id) {
  const auto left = find_remaining_files(disk, id);
  if (!left) return left.error();
  // A user may have pinned the checkpoint since gc read the folder (the survey).
  const auto was_pinned = checkpoint::is_pinned(disk, id);
  if (!was_pinned) return was_pinned.error();
  if (*was_pinned) return false;
  if (auto votes = remove_files(disk, checkpoint::receipts_folder(id), left->receipts); !votes)
    return votes.error();
  const auto is_pinned = checkpoint::is_pinned(disk, id);
  if (!is_pinned) return is_pinned.error();
  if (*is_pinned) return false;
  if (auto packs = remove_files(disk, checkpoint::packs_folder(id), left->packs); !packs)
    return packs.error();
  if (auto removed = remove_if_exists(disk, checkpoint::quarantine_reason_path(id)); !removed)
    return removed.error();
  const auto removed = remove_if_exists(disk, checkpoint::manifest_path(id, checkpoint::kQuarantine));
  if (!removed) return removed.error();
  return true;
}

// Returns whether the checkpoint is committed now. A slow writer may have committed it after gc read the
// folder.
Result<bool> is_committed_now(const Disk& disk, const CheckpointId& id) {
  const auto manifest = checkpoint::read_manifest(disk, id);
  if (manifest) return true;
  if (manifest.error().kind() == ErrorKind::kNotFound) return false;
  return manifest.error();
}

// Returns whether a checkpoint's packs (tensor files) must stay. A run may have quarantined the checkpoint or
// set it aside by a rollback. A user may have pinned the checkpoint while a run was retiring it. Call
// is_committed_now() before must_keep_packs(), because a run removes a manifest from manifests/ only after it
// has written the copy in quarantine/ or aside/.
Result<bool> must_keep_packs(const Disk& disk, const CheckpointId& id) {
  const auto given_up = checkpoint::quarantined_or_aside_checkpoints(disk);
  if (!given_up) return given_up.error();
  if (given_up->contains(id)) return true;
  return checkpoint::is_pinned(disk, id);
}

// Returns whether the checkpoint was removed.
Result<bool> remove_uncommitted(Disk& disk, const CheckpointId& id) {
  const auto was_wanted = must_keep_packs(disk, id);
  if (!was_wanted) return was_wanted.error();
  if (*was_wanted) return false;
  const auto left = find_remaining_files(disk, id);
  if (!left) return left.error();
  // Remove a pack's receipt, which says that the pack is complete, before the pack itself, because no commit
  // includes a pack without a receipt.
  if (auto votes = remove_files(disk, checkpoint::receipts_folder(id), left->receipts); !votes)
    return votes.error();
  const auto is_late = is_committed_now(disk, id);
  if (!is_late) return is_late.error();
  const auto is_wanted = must_keep_packs(disk, id);
  if (!is_wanted) return is_wanted.error();
  if (*is_wanted) return false;
  // If a slow writer has committed the checkpoint in the meantime, gc removes it as well, because no run
  // prefers it to the newest checkpoint.
  const auto removed = *is_late ? checkpoint::remove_checkpoint(disk, id)
                                : remove_files(disk, checkpoint::packs_folder(id), left->packs);
  if (!removed) return removed.error();
  return true;
}

Result<bool> remove(Disk& disk, const GcItem& item) {
  if (item.kind == GarbageKind::kUncommitted) return remove_uncommitted(disk, item.id);
  if (item.kind == GarbageKind::kRetired)
    return checkpoint::retire_checkpoint(disk, item.id, random_hex_name());
  return remove_quarantined(disk, item.id);
}

}  // namespace

std::string_view name_of(GarbageKind kind) {
  switch (kind) {
    case GarbageKind::kUncommitted:
      return "uncommitted";
    case GarbageKind::kQuarantined:
      return "quarantined";
    case GarbageKind::kRetired:
      break;
  }
  return "retired";
}

GcPlan plan_gc(const Survey& survey, const GcRules& rules) {
  GcPlan plan;
  std::vector<checkpoint::KeptCheckpoint> complete;
  for (const FoundCheckpoint& found : survey.checkpoints) {
    if (found.standing != CheckpointState::kComplete) continue;
    complete.push_back({.id = found.id, .size_bytes = found.size_bytes, .is_pinned = found.is_pinned});
  }
  if (complete.empty()) return plan;
  plan.newest = complete.front().id;

  for (const UncommittedCheckpoint& one : survey.uncommitted)
    if (one.id < plan.newest) plan.items.push_back({GarbageKind::kUncommitted, one.id, one.size_bytes});
  std::vector<CheckpointId> retired;
  if (rules.keep_last != 0)
    retired = checkpoint::choose_retired(complete, {.last = rules.keep_last, .every_steps = rules.keep_every},
                                         plan.newest.attempt);
  for (const FoundCheckpoint& found : survey.checkpoints) {
    if (found.standing == CheckpointState::kSetAside && rules.empties_quarantine && found.id < plan.newest &&
        !found.is_pinned)
      plan.items.push_back({GarbageKind::kQuarantined, found.id, found.size_bytes});
    if (std::ranges::find(retired, found.id) != retired.end())
      plan.items.push_back({GarbageKind::kRetired, found.id, found.size_bytes});
  }
  return plan;
}

Result<void> run_gc(Disk& disk, const Survey& survey, const GcPlan& plan,
                    const std::function<void(std::uint64_t)>& on_verified,
                    const std::function<void(const GcItem&)>& on_removed) {
  if (plan.items.empty()) return {};
  const auto newest = std::ranges::find(survey.checkpoints, plan.newest, &FoundCheckpoint::id);
  const VerifyResult verified = verify_checkpoint(disk, *newest, on_verified);
  if (verified.verdict != VerifyOutcome::kGood) {
    return Error(verified.verdict == VerifyOutcome::kBad       ? ErrorKind::kCorrupted
                 : verified.verdict == VerifyOutcome::kRetired ? ErrorKind::kConflict
                                                               : ErrorKind::kIo,
                 "nothing is removed, because the newest checkpoint (" + checkpoint_text(plan.newest) +
                     ") is " + std::string(name_of(verified.verdict)) + ": " + verified.why);
  }
  for (const GcItem& item : plan.items) {
    const auto is_gone = remove(disk, item);
    if (!is_gone) return is_gone.error().with_context("removing the files of " + checkpoint_text(item.id));
    if (*is_gone) on_removed(item);
  }
  return checkpoint::sweep_parts(disk, plan.newest);
}

}  // namespace ratoon::cli
