// Which run a person means: a folder, the name of a job under ratoon-runs/, or the only one there.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/result.h>

namespace ratoon::cli {

inline constexpr const char* kRunsFolder = "ratoon-runs";

// An empty wish: the run that goes on in ratoon-runs/, or the only one there.
[[nodiscard]] Result<std::filesystem::path> find_run(const std::string& wish);

}  // namespace ratoon::cli
