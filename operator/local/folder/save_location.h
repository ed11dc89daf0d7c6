// Finds where the members of a local run save. The members save in the run's folder, unless their program or
// an option after `--` of `ratoon run` or `ratoon launch` (--save-folder, --run-name) names another place.
//
// The functions return a path within the run's folder relative to this folder, so that the path stays valid
// when the folder is copied, moved or restored. They return paths outside of the run's folder as absolute
// paths.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/training_job.h"
#include "operator/api/world.h"

namespace ratoon::local {

struct SaveFolders {
  std::filesystem::path run;   // absolute
  std::filesystem::path save;  // the default from the members' environment
  std::filesystem::path work;  // the base of relative paths
};

// Pure: returns the run's name, as the trainer takes it from its options.
[[nodiscard]] std::string run_name_of(const api::TrainingJob& job);

// Pure: returns "<save folder>/<run name>", or the URL of a bucket, as given by command line and environment.
// If a program saves in another location, reported_save_location() returns that location.
[[nodiscard]] std::string save_location(const api::TrainingJob& job, const SaveFolders& folders);

// Pure: returns the save location that the members' processes reported in their messages, or nothing if no
// process reported one.
[[nodiscard]] std::optional<std::string> reported_save_location(
    const std::vector<api::ProcessFacts>& processes, const SaveFolders& folders);

}  // namespace ratoon::local
