// Tells which files belong to a run, so that no other file is written at their paths.
#pragma once

#include <filesystem>

namespace ratoon::checkpoint {

// Whether the folder is a run's folder: it contains a folder of manifests.
[[nodiscard]] bool is_run_folder(const std::filesystem::path& folder);

// Whether the file lies in a run's folder, at any depth: then the run created the file, or may create a file
// of this name. Follows links in the path. Returns false if the path cannot be resolved.
[[nodiscard]] bool belongs_to_run(const std::filesystem::path& file);

}  // namespace ratoon::checkpoint
