// A run's folder, opened for reading. A run may be writing into the folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::cli {

// kInvalid if the folder has no checkpoints of Ratoon; the message names the run folders below it.
[[nodiscard]] Result<std::unique_ptr<checkpoint::Disk>> open_run_folder(const std::filesystem::path& folder);

// The place where the members of a run in a folder of `ratoon run` save: a folder, or a store's address. A
// save folder inside the run's own folder is returned below `folder`, also if `folder` is a copy or was
// moved. The value is empty if the folder is not one of `ratoon run`, or if an older Ratoon wrote it.
[[nodiscard]] std::string saves_of_run(const std::filesystem::path& folder);

// For a folder of `ratoon run`: the place where the run saves, or the only run folder below it. Else `folder`
// itself.
[[nodiscard]] std::filesystem::path checkpoints_in(const std::filesystem::path& folder);

// Returns the error that `shown` holds no run. The error suggests the run folders in `below`, which are
// sorted.
[[nodiscard]] Error no_run_in(const std::string& shown, const std::vector<std::string>& below);

}  // namespace ratoon::cli
