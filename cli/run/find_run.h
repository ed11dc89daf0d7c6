// Which run a person means: a folder, the name of a job under ratoon-runs/, or the only one there.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/result.h>

namespace ratoon::cli {

inline constexpr const char* kRunsFolder = "ratoon-runs";

// `wish` itself where it is there, else the run of that name in ratoon-runs/.
[[nodiscard]] Result<std::filesystem::path> place_of_run(const std::string& wish);

// An empty wish: the run that goes on in ratoon-runs/, or the only one there. The place of a run's
// checkpoints: the run in ratoon-runs/ that saves there.
[[nodiscard]] Result<std::filesystem::path> find_run(const std::string& wish);

}  // namespace ratoon::cli
