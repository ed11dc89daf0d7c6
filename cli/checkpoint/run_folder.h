// Opens a run's folder for reading. The run may still be writing into the folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::cli {

// Returns kInvalid if the folder has no Ratoon checkpoints; the message names run folders below it.
[[nodiscard]] Result<std::unique_ptr<checkpoint::Disk>> open_run_folder(const std::filesystem::path& folder);

// Returns where the run of `ratoon run` in `folder` saves its checkpoints: a folder, or the URI of an object
// store. If `folder` was copied or moved together with its save folder, returns the save folder's path in the
// copy. Returns an empty text if `ratoon run` (of this or a newer version) did not make `folder`.
[[nodiscard]] std::string save_location_of_run(const std::filesystem::path& folder);

// If `ratoon run` made `folder`, returns the folder to which the run saves. If that save folder has no
// checkpoints, returns the only folder with checkpoints below `folder`. In all other cases returns `folder`
// itself.
[[nodiscard]] std::filesystem::path checkpoint_folder_of_run(const std::filesystem::path& folder);

// Returns the error that there is no run at `shown`. The error suggests the run folders in `below`, which
// must be sorted.
[[nodiscard]] Error no_run_found_error(const std::string& shown, const std::vector<std::string>& below);

}  // namespace ratoon::cli
