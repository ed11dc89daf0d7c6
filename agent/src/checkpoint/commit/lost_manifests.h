// Detects that a run's folder or object store lost its manifests, for example because a copy of the folder
// was interrupted. A folder without manifests looks like the folder of a run that never committed a
// checkpoint, and a run that started over in it would remove the packs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

// If manifests/ contains no manifest, returns the name of a link, such as `latest`, that leads to a pack
// whose attempt is newer than all manifests in quarantine/ and aside/. Links are made only after commits, so
// a link to an attempt without a manifest shows that the manifest was lost. Returns nothing if manifests/
// contains a manifest, or if no link leads to a pack of a newer attempt. `newest_elsewhere` is the newest
// checkpoint that another location of the run lists: a link to it, or to an older checkpoint, shows no loss,
// because the run then resumes from that checkpoint.
[[nodiscard]] Result<std::optional<std::string>> find_link_without_manifest(
    const Disk& disk, const std::filesystem::path& run_folder,
    const std::optional<CheckpointId>& newest_elsewhere = {});

// Detects lost manifests also without the link `latest`: object stores have no links, and a folder may have
// lost this link. Returns true if manifests/ is empty and there are packs of an attempt that committed a
// checkpoint and is newer than all manifests in quarantine/ and aside/, and newer than the attempt of
// `newest_elsewhere`.
[[nodiscard]] Result<bool> has_packs_of_lost_manifests(
    const Disk& disk, const std::optional<CheckpointId>& newest_elsewhere = {});

// Returns true if there are packs and no manifest in manifests/, quarantine/ or aside/, so that it is unknown
// whether the packs were ever committed.
[[nodiscard]] Result<bool> has_packs_and_no_manifest(const Disk& disk);

// Writes a note (an empty file beside the packs) that this attempt has committed a checkpoint. Call
// write_commit_note() after the manifest is durable: a note without any manifest means that manifests are
// lost. The note is durable when write_commit_note() returns. Ignores errors: the commit is valid without the
// note.
void write_commit_note(Disk& disk, Attempt attempt);
// Removes the commit notes of all attempts except the newest attempt that has a commit note.
[[nodiscard]] Result<void> remove_old_commit_notes(Disk& disk);

}  // namespace ratoon::checkpoint
