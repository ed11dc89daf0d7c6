// A run's place whose manifests are gone, as after a copy that was cut short: it looks like that of a run
// that never committed anything, and who began anew there would remove the packs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// The name of a `latest` link that leads to a pack of which no manifest speaks, neither in manifests/ nor
// among those that were set aside: none of that pack's attempt, nor of a later one. Links are made after
// commits alone. Nothing where all is well.
[[nodiscard]] Result<std::optional<std::string>> link_without_manifests(
    const Disk& disk, const std::filesystem::path& run_folder);

// The same by what lies beside the packs, for places without links, as stores are, and where `latest` is gone
// as well: no name of a manifest in manifests/, and packs of an attempt that committed, of which none that
// was set aside speaks.
[[nodiscard]] Result<bool> has_packs_of_lost_manifests(const Disk& disk);

// Whether there are packs and no manifest of any kind: what they are is not known.
[[nodiscard]] Result<bool> has_packs_and_no_manifest(const Disk& disk);

// Notes beside the packs that this attempt has committed. That it cannot be noted costs no commit.
void note_commit(Disk& disk, Attempt attempt);
// Leaves the newest note alone.
[[nodiscard]] Result<void> remove_old_notes_of_commits(Disk& disk);

}  // namespace ratoon::checkpoint
