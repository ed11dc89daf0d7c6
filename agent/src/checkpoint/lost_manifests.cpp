#include "agent/src/checkpoint/lost_manifests.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/file_names.h"

namespace ratoon::checkpoint {
namespace {

namespace fs = std::filesystem;

bool is_empty_or_missing(const fs::path& folder) {
  std::error_code code;
  const fs::directory_iterator first(folder, code);
  return code || first == fs::directory_iterator();
}

bool has_any_manifest(const fs::path& run_folder) {
  for (const char* name : {kManifests, kQuarantine, kAside})
    if (!is_empty_or_missing(run_folder / name)) return true;
  return false;
}

Result<bool> has_entries(const Disk& disk, const std::string& folder) {
  const auto entries = list_if_there(disk, folder);
  if (!entries) return entries.error();
  return !entries->empty();
}

}  // namespace

Result<bool> has_packs_and_no_manifest(const Disk& disk) {
  for (const char* name : {kManifests, kQuarantine, kAside}) {
    const auto has_any = has_entries(disk, name);
    if (!has_any) return has_any;
    if (*has_any) return false;
  }
  const auto attempts = list_if_there(disk, kPacks);
  if (!attempts) return attempts.error();
  for (const DiskEntry& attempt : *attempts) {
    if (!attempt.is_folder || !parse_attempt_name(attempt.name)) continue;
    const auto has_any = has_entries(disk, std::string(kPacks) + "/" + attempt.name);
    if (!has_any || *has_any) return has_any;
  }
  return false;
}

bool has_sign_of_a_commit(const Disk& disk) {
  if (disk.open(kCommitted) || disk.open(kCommittedBefore)) return true;
  const auto records = list_if_there(disk, kRollbacks);
  return records && std::ranges::any_of(*records, [](const auto& entry) {
           return parse_rollback_name(entry.name).has_value();
         });
}

void note_that_one_was_committed(Disk& disk) {
  const auto file = disk.create(kCommitted);  // fails where an earlier commit made it
  if (!file || !(*file)->close()) return;
  static_cast<void>(disk.rename_new(kCommitted, kCommitted));  // a store has no files without their names
}

std::optional<std::string> link_without_manifests(const fs::path& run_folder) {
  if (has_any_manifest(run_folder)) return std::nullopt;
  std::error_code code;
  for (fs::directory_iterator entry(run_folder, code); !code && entry != fs::directory_iterator();
       entry.increment(code)) {
    std::error_code ignored;
    if (!entry->is_symlink(ignored)) continue;
    const fs::path target = fs::read_symlink(entry->path(), ignored);
    if (!target.empty() && *target.begin() == kPacks) return entry->path().filename().string();
  }
  return std::nullopt;
}

}  // namespace ratoon::checkpoint
