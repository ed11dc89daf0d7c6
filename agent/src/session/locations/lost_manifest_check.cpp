#include "agent/src/session/locations/lost_manifest_check.h"

#include <string>

#include "agent/src/checkpoint/commit/lost_manifests.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/history/history_file.h"
#include "agent/src/session/options/location_options.h"

namespace ratoon::session {
namespace {

constexpr const char* kRestoreManifestsText =
    ", as after a copy that was cut short: bring the manifests back, or ";
constexpr const char* kNoAutomaticRestartText =
    " to begin anew; Ratoon does not start the run over by itself";

Result<bool> has_lost_manifests(const checkpoint::Disk& disk) {
  auto are_known = checkpoint::has_packs_of_lost_manifests(disk);
  if (!are_known || *are_known) return are_known;
  auto are_unknown = checkpoint::has_packs_and_no_manifest(disk);
  if (!are_unknown) return are_unknown;
  return *are_unknown && history::resumed_from_checkpoint(disk);
}

Result<void> check_links(const checkpoint::Tiers& tiers, const Options& options,
                         checkpoint::CallsWithTimeout& calls) {
  if (tiers.home().store) return {};
  return calls("looking at " + home_location(options),
               [disk = tiers.home().disk, folder = run_folder(options)]() -> Result<void> {
                 const auto link = checkpoint::find_link_without_manifest(*disk, folder);
                 if (!link) return link.error();
                 if (!*link) return {};
                 return Error(ErrorKind::kCorrupted,
                              (folder / **link).string() +
                                  " leads to a checkpoint, but there is no manifest of it in " +
                                  (folder / checkpoint::kManifests).string() + kRestoreManifestsText +
                                  "remove that link and " + (folder / checkpoint::kPacks).string() +
                                  kNoAutomaticRestartText);
               });
}

}  // namespace

Result<void> check_no_manifests_lost(const checkpoint::Tiers& tiers, const Options& options,
                                     checkpoint::CallsWithTimeout& calls) {
  if (auto checked = check_links(tiers, options, calls); !checked) return checked;
  for (const checkpoint::Tier& tier : tiers.all()) {
    const auto has_lost = has_lost_manifests(*tier.disk);
    if (!has_lost) return has_lost.error();
    if (!*has_lost) continue;
    const std::string packs = tier.disk->shown(checkpoint::kPacks);
    return Error(ErrorKind::kCorrupted,
                 packs + " has packs of checkpoints that were committed, but there is no manifest in " +
                     tier.disk->shown(checkpoint::kManifests) + kRestoreManifestsText + "move " + packs +
                     " away" + kNoAutomaticRestartText);
  }
  return {};
}

}  // namespace ratoon::session
