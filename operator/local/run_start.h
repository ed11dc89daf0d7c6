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

// Returns the status with which a new `ratoon run` continues a job: no old member is alive.
[[nodiscard]] api::TrainingJobStatus recover_status(const api::TrainingJobSpec& spec,
                                                    api::TrainingJobStatus status);

// Returns the status with which a completed job continues to a later end of training.
[[nodiscard]] api::TrainingJobStatus reopen(api::TrainingJobStatus status);

// Returns the status with which a job starts over. The attempt number continues, and checkpoints of older
// attempts, in any storage, no longer belong to the job.
[[nodiscard]] api::TrainingJobStatus fresh_status(const api::TrainingJobStatus& status);

struct RunStart {
  api::TrainingJobStatus status;
  bool goes_on = false;     // with the status of an earlier run
  nlohmann::json document;  // the status.json of the earlier run; null if there is none to continue
  // Where the members of the earlier run saved, if the job has the same roles as in that run.
  std::optional<std::string> save_location{};
  std::optional<std::string> set_aside;  // a sentence for the user: where the files of earlier runs are now
};

// If the run starts over, calls `store` to write the fresh status before it moves the old files. Discards
// checkpoints that exist only in memory unless their run continues. A completed run continues if the roles of
// its job have changed, because the new arguments may name a later end.
[[nodiscard]] Result<RunStart> begin_run(
    const RunFolder& folder, const api::TrainingJob& job, bool starts_over, WallTime now,
    const std::function<Result<void>(const api::TrainingJobStatus&)>& store);

}  // namespace ratoon::local
