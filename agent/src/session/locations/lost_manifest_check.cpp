#include "agent/src/session/locations/lost_manifest_check.h"

#include <algorithm>
#include <optional>
#include <string>

#include "agent/src/checkpoint/commit/lost_manifests.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/history/history_file.h"
#include "agent/src/session/options/location_options.h"

namespace ratoon::session {
namespace {

constexpr const char* kRestoreManifestsText =
    ", as after a copy that was cut short: bring the manifests back, or ";

// Says what happens after the user has followed the advice before it.
std::string after_repair_text(const checkpoint::Inventory& listed) {
  if (!listed.complete.empty())
    return " to go on from step " + std::to_string(listed.complete.front().step.value()) +
           ", the newest checkpoint of the run's other locations; Ratoon does not give up the newer steps by "
           "itself";
  return " to begin anew; Ratoon does not start the run over by itself";
}

Result<bool> has_lost_manifests(const checkpoint::Disk& disk,
                                const std::optional<checkpoint::CheckpointId>& newest_listed) {
  auto are_known = checkpoint::has_packs_of_lost_manifests(disk, newest_listed);
  if (!are_known || *are_known || newest_listed) return are_known;
  auto are_unknown = checkpoint::has_packs_and_no_manifest(disk);
  if (!are_unknown) return are_unknown;
  return *are_unknown && history::resumed_from_checkpoint(disk);
}

Result<void> check_links(const checkpoint::Tiers& tiers, const Options& options,
                         checkpoint::CallsWithTimeout& calls,
                         const std::optional<checkpoint::CheckpointId>& newest_listed,
                         const std::string& after_repair) {
  if (tiers.home().store) return {};
  return calls("looking at " + home_location(options),
               [disk = tiers.home().disk, folder = run_folder(options), newest_listed,
                after_repair]() -> Result<void> {
                 const auto link = checkpoint::find_link_without_manifest(*disk, folder, newest_listed);
                 if (!link) return link.error();
                 if (!*link) return {};
                 return Error(ErrorKind::kCorrupted,
                              (folder / **link).string() +
                                  " leads to a checkpoint, but there is no manifest of it in " +
                                  (folder / checkpoint::kManifests).string() + kRestoreManifestsText +
                                  "remove that link and " + (folder / checkpoint::kPacks).string() +
                                  after_repair);
               });
}

}  // namespace

Result<void> check_no_manifests_lost(const checkpoint::Tiers& tiers, const Options& options,
                                     checkpoint::CallsWithTimeout& calls,
                                     const checkpoint::Inventory& listed) {
  std::optional<checkpoint::CheckpointId> newest_listed;
  for (const auto* entries : {&listed.complete, &listed.damaged, &listed.given_up})
    for (const InventoryEntry& entry : *entries)
      newest_listed = std::max(newest_listed, std::optional(checkpoint::id_of(entry)));
  const std::string after_repair = after_repair_text(listed);
  if (auto checked = check_links(tiers, options, calls, newest_listed, after_repair); !checked)
    return checked;
  for (const checkpoint::Tier& tier : tiers.all()) {
    const auto has_lost = has_lost_manifests(*tier.disk, newest_listed);
    if (!has_lost) return has_lost.error();
    if (!*has_lost) continue;
    const std::string packs = tier.disk->shown(checkpoint::kPacks);
    return Error(ErrorKind::kCorrupted,
                 packs + " has packs of checkpoints that were committed, but there is no manifest in " +
                     tier.disk->shown(checkpoint::kManifests) + kRestoreManifestsText + "move " + packs +
                     " away" + after_repair);
  }
  return {};
}

}  // namespace ratoon::session
