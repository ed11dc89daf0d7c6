// Detects that a place of a run (a folder or a store) lost its manifests, as in an interrupted copy. A place
// without manifests looks like the place of a run that never committed anything, and a run that started over
// in it would remove the packs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// The name of a link, such as `latest`, that leads to a pack of an attempt newer than all manifests,
// including those that were set aside. Links are made only after commits, so a manifest of the linked attempt
// must be lost. Returns nothing if no link leads to a newer pack, or if manifests/ contains a manifest.
[[nodiscard]] Result<std::optional<std::string>> link_without_manifests(
    const Disk& disk, const std::filesystem::path& run_folder);

// Detects the loss without links, for stores and for places that have lost `latest` as well. Returns true if
// manifests/ contains no manifest, and there are packs of an attempt that committed and is newer than all
// manifests that were set aside.
[[nodiscard]] Result<bool> has_packs_of_lost_manifests(const Disk& disk);

// Whether there are packs and no manifest of any kind, so that it is unknown whether the packs were ever
// committed.
[[nodiscard]] Result<bool> has_packs_and_no_manifest(const Disk& disk);

// Writes a note, beside the packs, that this attempt has committed. Call note_commit() once the manifest is
// durable: a note without its manifest says that manifests are lost. The note is durable when the call
// returns, before the commit is reported. Ignores errors: the commit is valid without the note.
void note_commit(Disk& disk, Attempt attempt);
// Removes all notes of commits but the newest.
[[nodiscard]] Result<void> remove_old_notes_of_commits(Disk& disk);

}  // namespace ratoon::checkpoint
