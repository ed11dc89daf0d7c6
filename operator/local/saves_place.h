// Where the members of a local run save: in the run's folder, unless their command line says otherwise
// (--save-folder, --run-name), as words behind `--` of `ratoon run` and `ratoon launch` do.
#pragma once

#include <filesystem>
#include <string>

#include "operator/api/training_job.h"

namespace ratoon::local {

struct SavesFolders {
  std::filesystem::path run;   // absolute
  std::filesystem::path save;  // what members are told beside their command line
  std::filesystem::path work;  // from which relative paths in it count
};

// Pure: "<save folder>/<run name>", or the address of a bucket. A place within the run's folder is relative
// to that, and follows it where it is copied, moved or restored; any other is absolute.
[[nodiscard]] std::string saves_place(const api::TrainingJob& job, const SavesFolders& folders);

}  // namespace ratoon::local
