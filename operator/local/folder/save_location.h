// Where the members of a local run save: in the run's folder, unless their program or its command line says
// otherwise (--save-folder, --run-name), as given after `--` of `ratoon run` and `ratoon launch`.
//
// A path within the run's folder is returned relative to it, so that it stays valid when the folder is
// copied, moved or restored. Paths outside of the run's folder are returned as absolute paths.
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

// Pure: returns "<save folder>/<run name>", or the URL of a bucket, as far as the command line and the
// environment tell. A program may save in another place, which told_save_location() returns.
[[nodiscard]] std::string save_location(const api::TrainingJob& job, const SaveFolders& folders);

// Pure: returns where the members save according to a message of one of their processes, or nothing without
// such a message.
[[nodiscard]] std::optional<std::string> told_save_location(const std::vector<api::ProcessFacts>& processes,
                                                            const SaveFolders& folders);

}  // namespace ratoon::local
