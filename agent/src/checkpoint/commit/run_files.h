// Tells which files belong to a run, so that no other file is written in their place.
#pragma once

#include <filesystem>

namespace ratoon::checkpoint {

// Whether the folder is that of a run: it contains a folder of manifests.
[[nodiscard]] bool is_run_folder(const std::filesystem::path& folder);

// Whether a run created the file, or would create a file of this name: one of the folders above it is a
// run's. Follows links in the path. False if the path cannot be resolved.
[[nodiscard]] bool belongs_to_run(const std::filesystem::path& file);

}  // namespace ratoon::checkpoint
