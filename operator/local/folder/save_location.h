// Where the members of a local run save: in the run's folder, unless their command line says otherwise
// (--save-folder, --run-name), as given after `--` of `ratoon run` and `ratoon launch`.
#pragma once

#include <filesystem>
#include <string>

#include "operator/api/training_job.h"

namespace ratoon::local {

struct SaveFolders {
  std::filesystem::path run;   // absolute
  std::filesystem::path save;  // the default from the members' environment
  std::filesystem::path work;  // the base of relative paths
};

// Pure: returns the name of the run that the trainer finds.
[[nodiscard]] std::string run_name_of(const api::TrainingJob& job);

// Pure: returns "<save folder>/<run name>", or the URL of a bucket. A path within the run's folder is
// returned relative to it, so that it stays valid when the folder is copied, moved or restored. Other paths
// are returned as absolute paths.
[[nodiscard]] std::string save_location(const api::TrainingJob& job, const SaveFolders& folders);

}  // namespace ratoon::local
