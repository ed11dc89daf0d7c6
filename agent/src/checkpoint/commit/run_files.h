// Decides whether a path belongs to a run's folder, so that a program does not overwrite files of a run.
#pragma once

#include <filesystem>

namespace ratoon::checkpoint {

// Returns true if the folder is a run's folder, which means that it contains the folder `manifests`.
[[nodiscard]] bool is_run_folder(const std::filesystem::path& folder);

// Returns true if the file is in a run's folder, at any depth: the run created the file, or may create a file
// of this name later. Follows links in the path. Returns false if the links in the path cannot be followed.
[[nodiscard]] bool belongs_to_run(const std::filesystem::path& file);

}  // namespace ratoon::checkpoint
