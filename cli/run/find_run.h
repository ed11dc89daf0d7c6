// Finds the run that a user names: by its folder, by the name of a job under ratoon-runs/, or without a name
// if there is only one run.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/result.h>

namespace ratoon::cli {

inline constexpr const char* kRunsFolder = "ratoon-runs";

// Returns `name` itself if that path exists, else the run of that name in ratoon-runs/.
[[nodiscard]] Result<std::filesystem::path> path_of_run(const std::string& name);

// An empty name selects the running one in ratoon-runs/, or the only one there. The place of a run's
// checkpoints selects the run in ratoon-runs/ that saves there.
[[nodiscard]] Result<std::filesystem::path> find_run(const std::string& name);

}  // namespace ratoon::cli
