// Where the members of a local run save: in the run's folder, unless their command line says otherwise
// (--save-folder, --run-name), as words behind `--` of `ratoon run` and `ratoon launch` do.
#pragma once

#include <filesystem>
#include <string>

#include "operator/api/training_job.h"

namespace ratoon::local {

// Pure: "<save folder>/<run name>", absolute, or the address of a bucket. `save_folder` is what members are
// told beside their command line; relative paths count from `work_folder`.
[[nodiscard]] std::string saves_place(const api::TrainingJob& job, const std::filesystem::path& save_folder,
                                      const std::filesystem::path& work_folder);

}  // namespace ratoon::local
