// A run's place whose manifests are gone, as after a copy that was cut short: it looks like that of a run
// that never committed anything, and who began anew there would remove the packs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::checkpoint {

// The name of a `latest` link that leads to a pack, though there is no manifest in the folder: neither of a
// checkpoint nor of one that was set aside. Links are made after commits alone. Nothing where all is well.
[[nodiscard]] std::optional<std::string> link_without_manifests(const std::filesystem::path& run_folder);

// The same for places without links, as stores are, and where `latest` is gone as well.
[[nodiscard]] Result<bool> has_packs_and_no_manifest(const Disk& disk);

// What no run leaves that never got so far: kCommitted, which lies beside the packs that it is about, the
// file that versions before this one made beside their votes, or the record of a rollback to a checkpoint.
[[nodiscard]] bool has_sign_of_a_commit(const Disk& disk);

// Makes kCommitted, after a commit. That it cannot be made costs no commit.
void note_that_one_was_committed(Disk& disk);

}  // namespace ratoon::checkpoint
