#include "agent/src/checkpoint/retention/removal.h"

#include <functional>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/checkpoint/retention/pins.h"

namespace ratoon::checkpoint {
namespace {

// Removes a checkpoint, and returns true if it was removed. Calls `is_kept` after it has removed the
// manifest. If `is_kept` returns true, the checkpoint's other files stay.
Result<bool> remove_unless_kept(Disk& disk, const CheckpointId& id,
                                const std::function<Result<bool>()>& is_kept) {
  // List the folders before removing any file, because listing may fail, for example at a link. If the packs
  // cannot be removed, the manifest must stay, too.
  const auto receipts = find_rank_files(disk, receipts_folder(id));
  if (!receipts) return receipts.error();
  const auto packs = find_rank_files(disk, packs_folder(id));
  if (!packs) return packs.error();
  const auto removed = disk.remove(manifest_path(id));
  if (!removed && !failed_with(removed, ErrorKind::kNotFound)) return removed.error();
  const auto stays = is_kept();
  if (!stays) return stays.error();
  if (*stays) return false;
  if (auto synced = disk.sync_folder(kManifests); !synced) return synced.error();
  if (auto gone = remove_rank_files(disk, receipts_folder(id), *receipts); !gone) return gone.error();
  if (auto gone = remove_rank_files(disk, packs_folder(id), *packs); !gone) return gone.error();
  return true;
}

}  // namespace

Result<std::vector<std::string>> find_rank_files(const Disk& disk, const std::string& folder) {
  const auto entries = list_if_there(disk, folder);
  if (!entries) return entries.error();
  std::vector<std::string> ours;
  for (const DiskEntry& entry : *entries) {
    if (!entry.is_folder && is_name_of_rank_file(entry.name)) ours.push_back(folder + "/" + entry.name);
  }
  return ours;
}

Result<void> remove_rank_files(Disk& disk, const std::string& folder, const std::vector<std::string>& ours) {
  for (const std::string& path : ours) {
    const auto removed = disk.remove(path);
    if (!removed && !failed_with(removed, ErrorKind::kNotFound)) return removed;
  }
  // Ignore an error: the folder may not be empty, because a slow process of an older attempt has just created
  // a file in it. The next cleanup removes this file.
  static_cast<void>(disk.remove_folder(folder));
  return {};
}

Result<void> remove_checkpoint(Disk& disk, const CheckpointId& id) {
  const auto removed = remove_unless_kept(disk, id, [] { return Result<bool>(false); });
  return removed ? Result<void>() : removed.error();
}

// Without its manifest a checkpoint no longer exists, even if its packs still exist. If another process pins
// the checkpoint before its manifest is removed, the check for pins after the removal finds the pin. If
// another process pins the checkpoint after the removal, that process sees that the manifest is missing. So
// if one process removes a checkpoint while another process pins it, at least one of them notices the other.
Result<bool> retire_checkpoint(Disk& disk, const CheckpointId& id, std::string_view mark) {
  const auto is_kept = is_pinned(disk, id);
  if (!is_kept) return is_kept.error();
  if (*is_kept) return false;
  const auto manifest = read_whole_file(disk, manifest_path(id), kManifestBytesMax);
  if (!manifest && manifest.error().kind() != ErrorKind::kNotFound) return manifest.error();
  return remove_unless_kept(disk, id, [&]() -> Result<bool> {
    auto is_kept_now = is_pinned(disk, id);
    if (!manifest || (is_kept_now && !*is_kept_now)) return is_kept_now;
    // Restore the manifest if the checkpoint is pinned or the pins cannot be read.
    const auto restored = save_durably(disk, manifest_path(id), *manifest, mark);
    if (!restored && !failed_with(restored, ErrorKind::kAlreadyExists)) return restored.error();
    return is_kept_now;
  });
}

}  // namespace ratoon::checkpoint
