// Finds the run that a user means: by the run's folder, by the folder of its checkpoints, or by a job's name
// in ratoon-runs/. Without a name, finds the running run or the only run in ratoon-runs/.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/result.h>

namespace ratoon::cli {

inline constexpr const char* kRunsFolder = "ratoon-runs";

// Returns `name` itself if that path exists, else the folder of the run with that name in ratoon-runs/.
[[nodiscard]] Result<std::filesystem::path> folder_of_run(const std::string& name);

// An empty name selects the running run in ratoon-runs/, or the only run there. The folder of a run's
// checkpoints selects the run in ratoon-runs/ that saves there.
[[nodiscard]] Result<std::filesystem::path> find_run(const std::string& name);

}  // namespace ratoon::cli
