#include "agent/src/checkpoint/tiers/lineage.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/format/manifest.h"

namespace ratoon::checkpoint {
namespace {

// Moves the manifests for which `goes` returns true from manifests/ and quarantine/ to aside/, oldest first.
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
  if (auto made = make_folders(disk, kAsideFolder, Durability::kSurvivesPowerCuts); !made)
    return made.error();
  for (const auto& [id, folder] : manifests) {
    const auto moved = move_durably(disk, manifest_path(id, folder), manifest_path(id, kAsideFolder),
                                    kManifestBytesMax, mark);
    if (!moved) return moved.error();
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
    if (auto made = make_folders(disk, kAsideFolder, Durability::kSurvivesPowerCuts); !made) return made;
    const auto moved = move_durably(disk, rollback_path(*attempt),
                                    std::string(kAsideFolder) + "/" + entry.name, kManifestBytesMax, mark);
    if (!moved) return moved;
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
