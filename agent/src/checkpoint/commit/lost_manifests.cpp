#include "agent/src/checkpoint/commit/lost_manifests.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/retention/retention.h"

namespace ratoon::checkpoint {
namespace {

namespace fs = std::filesystem;

// Returns the newest attempt that a manifest names, including manifests in quarantine/ and aside/. Returns
// nothing if there is no manifest.
Result<std::optional<Attempt>> newest_attempt_in_manifests(const Disk& disk) {
  const auto named = checkpoints_with_manifest_in(disk, {kManifests, kQuarantine, kAsideFolder});
  if (!named) return named.error();
  return named->empty() ? std::nullopt : std::optional(named->rbegin()->attempt);
}

// Returns the attempts that have packs, oldest first.
Result<std::vector<Attempt>> attempts_with_packs(const Disk& disk) {
  const auto entries = list_if_there(disk, kPacks);
  if (!entries) return entries.error();
  std::vector<Attempt> attempts;
  for (const DiskEntry& entry : *entries) {
    const auto attempt = parse_attempt_name(entry.name);
    if (!attempt || !entry.is_folder) continue;
    const auto steps = list_if_there(disk, std::string(kPacks) + "/" + entry.name);
    if (!steps) return steps.error();
    if (!steps->empty()) attempts.push_back(*attempt);
  }
  std::ranges::sort(attempts);
  return attempts;
}

// Returns the attempts that have a file `committed.a<attempt>`, oldest first. The file says that the attempt
// has committed a checkpoint.
Result<std::vector<Attempt>> attempts_with_commit_note(const Disk& disk) {
  const auto entries = list_if_there(disk, kPacks);
  if (!entries) return entries.error();
  std::vector<Attempt> attempts;
  for (const DiskEntry& entry : *entries)
    if (const auto attempt = parse_commit_note_name(entry.name)) attempts.push_back(*attempt);
  std::ranges::sort(attempts);
  return attempts;
}

// Returns true if files show that some attempt committed, but not which attempt: notes of older versions of
// Ratoon, or records of rollbacks. A rollback always goes back to a committed checkpoint.
bool has_trace_of_any_commit(const Disk& disk) {
  for (const char* path : kOldCommitNotes)
    if (disk.open(path)) return true;
  const auto records = list_if_there(disk, kRollbacks);
  return records && std::ranges::any_of(*records, [](const auto& entry) {
           return parse_rollback_name(entry.name).has_value();
         });
}

// Returns the checkpoint in a path such as packs/a0003/s0000001200, which is step 1200 of attempt 3.
std::optional<CheckpointId> checkpoint_of_pack(const fs::path& target) {
  auto part = target.begin();
  if (part == target.end() || *part != kPacks || ++part == target.end()) return std::nullopt;
  const auto attempt = parse_attempt_name(part->string());
  const auto step = ++part == target.end() ? std::nullopt : parse_step_name(part->string());
  if (!attempt || !step) return std::nullopt;
  return CheckpointId{.attempt = *attempt, .step = *step};
}

}  // namespace

Result<bool> has_packs_of_lost_manifests(const Disk& disk,
                                         const std::optional<CheckpointId>& newest_elsewhere) {
  const auto named = checkpoints_with_manifest_in(disk, {kManifests});
  if (!named) return named.error();
  if (!named->empty()) return false;
  const auto newest = newest_attempt_in_manifests(disk);
  if (!newest) return newest.error();
  const auto packs = attempts_with_packs(disk);
  if (!packs) return packs.error();
  if (packs->empty()) return false;
  const auto committed = attempts_with_commit_note(disk);
  if (!committed) return committed.error();
  const bool is_lost = std::ranges::any_of(*committed, [&](Attempt attempt) {
    return (!*newest || attempt > **newest) && (!newest_elsewhere || attempt > newest_elsewhere->attempt) &&
           std::ranges::binary_search(*packs, attempt);
  });
  return is_lost || (!*newest && !newest_elsewhere && has_trace_of_any_commit(disk));
}

Result<bool> has_packs_and_no_manifest(const Disk& disk) {
  const auto newest = newest_attempt_in_manifests(disk);
  if (!newest) return newest.error();
  if (*newest) return false;
  const auto packs = attempts_with_packs(disk);
  if (!packs) return packs.error();
  return !packs->empty();
}

void write_commit_note(Disk& disk, Attempt attempt) {
  const std::string path = commit_note_path(attempt);
  const auto file = disk.create(path);  // fails if an earlier commit of this attempt created it
  if (!file || !(*file)->sync() || !(*file)->close()) return;
  static_cast<void>(disk.rename_no_replace(path, path));  // a store creates an object only when it is renamed
  static_cast<void>(disk.sync_folder(kPacks));
}

Result<void> remove_old_commit_notes(Disk& disk) {
  auto attempts = attempts_with_commit_note(disk);
  if (!attempts) return attempts.error();
  if (!attempts->empty()) attempts->pop_back();
  for (const Attempt attempt : *attempts) {
    auto removed = disk.remove(commit_note_path(attempt));
    if (!removed && !failed_with(removed, ErrorKind::kNotFound))
      return removed;  // else another process removed it
  }
  return {};
}

Result<std::optional<std::string>> find_link_without_manifest(
    const Disk& disk, const fs::path& run_folder, const std::optional<CheckpointId>& newest_elsewhere) {
  const auto named = checkpoints_with_manifest_in(disk, {kManifests});
  if (!named) return named.error();
  if (!named->empty()) return std::optional<std::string>();
  const auto newest = newest_attempt_in_manifests(disk);
  if (!newest) return newest.error();
  std::error_code code;
  for (fs::directory_iterator entry(run_folder, code); !code && entry != fs::directory_iterator();
       entry.increment(code)) {
    std::error_code ignored;
    if (!entry->is_symlink(ignored)) continue;
    const auto linked = checkpoint_of_pack(fs::read_symlink(entry->path(), ignored));
    if (linked && (!*newest || linked->attempt > **newest) &&
        (!newest_elsewhere || *newest_elsewhere < *linked))
      return std::optional(entry->path().filename().string());
  }
  return std::optional<std::string>();
}

}  // namespace ratoon::checkpoint
