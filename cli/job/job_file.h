// cli/job/ reads TrainingJob files. This header reads TrainingJobs in YAML, in the format that kubectl takes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ratoon/result.h>

#include "operator/api/training_job.h"

namespace ratoon::cli {

// Reads a file. Appends `more_arguments` to the command of the first role.
[[nodiscard]] Result<api::TrainingJob> read_job_file(const std::filesystem::path& path,
                                                     const std::vector<std::string>& more_arguments);
// Parses `text`, the content of the TrainingJob file at `path`; read_job_file() reads the file and calls
// parse_job().
[[nodiscard]] Result<api::TrainingJob> parse_job(const std::string& text, const std::filesystem::path& path,
                                                 const std::vector<std::string>& more_arguments);

}  // namespace ratoon::cli
