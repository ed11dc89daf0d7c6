// A run's folder, opened to be looked at: a run may be writing into it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::cli {

// kInvalid where there are no checkpoints of ours in it; the message names the run folders that lie below.
[[nodiscard]] Result<std::unique_ptr<checkpoint::Disk>> open_run_folder(const std::filesystem::path& folder);

// Where a run in a folder of `ratoon run` says that its members save: a folder, or a bucket's address. One in
// the run's own folder is that of `folder`, also where this is a copy, or was moved. Empty:
// it is none, or an older Ratoon wrote it.
[[nodiscard]] std::string saves_of_run(const std::filesystem::path& folder);

// In a folder of `ratoon run` the place where it saves, or the one run whose checkpoints are there; else the
// folder as it is.
[[nodiscard]] std::filesystem::path checkpoints_in(const std::filesystem::path& folder);

// That nothing of a run is in it, with those of `below`, sorted, that are shown as what may have been meant.
[[nodiscard]] Error no_run_in(const std::string& shown, const std::vector<std::string>& below);

}  // namespace ratoon::cli
