// Detects that a run's folder or object store lost its manifests, for example because a copy of it was
// interrupted. A folder without manifests looks like the folder of a run that never committed a checkpoint,
// and a run that started over in it would remove the packs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// Returns the name of a link, such as `latest`, that leads to a pack whose attempt is newer than all
// manifests, including manifests in quarantine/ and aside/. Links are made only after commits, so a manifest
// of the linked attempt must be lost. Returns nothing if no link leads to a newer attempt than that of all
// manifests, or if manifests/ contains a manifest.
[[nodiscard]] Result<std::optional<std::string>> link_without_manifests(
    const Disk& disk, const std::filesystem::path& run_folder);

// Detects lost manifests without the link `latest`, which object stores do not have and a folder may have
// lost. Returns true if manifests/ is empty and there are packs of an attempt that committed a checkpoint and
// is newer than all manifests in quarantine/ and aside/.
[[nodiscard]] Result<bool> has_packs_of_lost_manifests(const Disk& disk);

// Returns true if there are packs and no manifest in manifests/, quarantine/ or aside/, so that it is unknown
// whether the packs were ever committed.
[[nodiscard]] Result<bool> has_packs_and_no_manifest(const Disk& disk);

// Writes a note (an empty file beside the packs) that this attempt has committed a checkpoint. Call
// note_commit() once the manifest is durable: a note without any manifest means that manifests are lost. The
// note is durable when note_commit() returns. Ignores errors: the commit is valid without the note.
void note_commit(Disk& disk, Attempt attempt);
// Removes the notes of all attempts that have committed, except the note of the newest attempt.
[[nodiscard]] Result<void> remove_old_notes_of_commits(Disk& disk);

}  // namespace ratoon::checkpoint
