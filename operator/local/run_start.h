// RunStart: the job status with which `ratoon run` begins: the first status of a job, the status of an
// earlier run, or a fresh status if the run starts over.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/api/training_job.h"
#include "operator/local/folder/run_folder.h"

namespace ratoon::local {

// Returns the status with which a new `ratoon run` continues a job. No member of the old run continues.
[[nodiscard]] api::TrainingJobStatus recover_status(const api::TrainingJobSpec& spec,
                                                    api::TrainingJobStatus status);

// Returns the status with which a completed job continues to a later end of training.
[[nodiscard]] api::TrainingJobStatus reopen_completed_job(api::TrainingJobStatus status);

// Returns the status with which a job starts over. The attempt number continues. Checkpoints of older
// attempts, on any storage, no longer belong to the job.
[[nodiscard]] api::TrainingJobStatus fresh_status(const api::TrainingJobStatus& status);

struct RunStart {
  api::TrainingJobStatus status;
  bool continues_run = false;  // with the status of an earlier run
  nlohmann::json document;     // the status.json of the earlier run; null if there is none to continue
  // Where the members of the earlier run saved, if the job still has the same roles.
  std::optional<std::string> save_location{};
  std::optional<std::string>
      archive_message;  // a sentence for the user: where the files of earlier runs are now
};

// If the run starts over, calls `store` to write the fresh status before it moves the old files. Discards
// checkpoints that exist only in memory, unless the run that wrote them continues. A completed run continues
// if the roles of its job have changed, because new arguments may name a later end of training.
[[nodiscard]] Result<RunStart> begin_run(
    const RunFolder& folder, const api::TrainingJob& job, bool starts_over, WallTime now,
    const std::function<Result<void>(const api::TrainingJobStatus&)>& store);

}  // namespace ratoon::local
