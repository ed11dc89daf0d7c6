#include "agent/src/checkpoint/tiers/lineage.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/file_names.h"
#include "agent/src/checkpoint/manifest.h"

namespace ratoon::checkpoint {
namespace {

bool says(const Result<void>& result, ErrorKind kind) {
  return !result && result.error().kind() == kind;
}

// Copied and then removed, as for quarantine: after a cut there are both rather than none.
Result<void> move_aside(Disk& disk, const std::string& folder, const std::string& name,
                        std::string_view mark) {
  const std::string path = folder + "/" + name;
  const auto text = read_whole(disk, path, kManifestBytesMax);
  if (!text) return text.error();
  const auto copied = save_durably(disk, std::string(kAside) + "/" + name, *text, mark);
  if (!copied && !says(copied, ErrorKind::kAlreadyExists)) return copied;
  const auto removed = disk.remove(path);
  if (!removed && !says(removed, ErrorKind::kNotFound)) return removed;
  return disk.sync_folder(folder);
}

// Those of manifests, wherever one is, and oldest first.
template <class Predicate>
Result<std::uint64_t> move_manifests(Disk& disk, std::string_view mark, const Predicate& goes) {
  using Found = std::pair<CheckpointId, std::string>;
  std::vector<Found> manifests;
  for (const char* folder : {kQuarantine, kManifests}) {
    const auto entries = list_if_there(disk, folder);
    if (!entries) return entries.error();
    for (const DiskEntry& entry : *entries) {
      const auto id = parse_manifest_name(entry.name);
      if (id && goes(*id) && !entry.is_folder) manifests.emplace_back(*id, folder);
    }
  }
  std::stable_sort(manifests.begin(), manifests.end(),
                   [](const Found& a, const Found& b) { return a.first < b.first; });
  if (manifests.empty()) return std::uint64_t{0};
  if (auto made = make_folders(disk, kAside, Lasts::kPowerCuts); !made) return made.error();
  for (const auto& [id, folder] : manifests) {
    const std::string name = manifest_path(id).substr(std::string_view(kManifests).size() + 1);
    if (auto moved = move_aside(disk, folder, name, mark); !moved) return moved.error();
  }
  return std::uint64_t{manifests.size()};
}

template <class Predicate>
Result<void> move_rollbacks(Disk& disk, std::string_view mark, const Predicate& goes) {
  const auto entries = list_if_there(disk, kRollbacks);
  if (!entries) return entries.error();
  for (const DiskEntry& entry : *entries) {
    const auto attempt = parse_rollback_name(entry.name);
    if (!attempt || !goes(*attempt) || entry.is_folder) continue;
    if (auto made = make_folders(disk, kAside, Lasts::kPowerCuts); !made) return made;
    if (auto moved = move_aside(disk, kRollbacks, entry.name, mark); !moved) return moved;
  }
  return {};
}

}  // namespace

Result<std::uint64_t> set_lineage_aside(Disk& disk, std::string_view mark, std::optional<Attempt> before) {
  const auto is_older = [&](Attempt attempt) { return !before || attempt < *before; };
  auto moved = move_manifests(disk, mark, [&](const CheckpointId& id) { return is_older(id.attempt); });
  if (!moved) return moved;
  if (auto records = move_rollbacks(disk, mark, is_older); !records) return records.error();
  return moved;
}

Result<std::uint64_t> set_rolled_back_aside(Disk& disk, std::span<const Rollback> in_force,
                                            std::string_view mark) {
  return move_manifests(disk, mark, [&](const CheckpointId& id) { return is_given_up(id, in_force); });
}

}  // namespace ratoon::checkpoint
