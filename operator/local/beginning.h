// Beginning: the status with which a runner begins: its first one, that of the run before it, gone on with,
// or a fresh one where the run is started over.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/api/training_job.h"
#include "operator/local/run_folder.h"

namespace ratoon::local {

// The status with which a run goes on after its runner is gone: nothing of the old members is left.
[[nodiscard]] api::TrainingJobStatus recover_status(const api::TrainingJobSpec& spec,
                                                    api::TrainingJobStatus status);

// The status of a job that had completed, and is to go on to another end.
[[nodiscard]] api::TrainingJobStatus reopen(api::TrainingJobStatus status);

// The status with which a job begins again from its beginning. Attempts go on counting, and nothing that an
// older one saved, wherever it lies, is the job's own any more.
[[nodiscard]] api::TrainingJobStatus fresh_status(const api::TrainingJobStatus& status);

struct Beginning {
  api::TrainingJobStatus status;
  bool goes_on = false;     // with what a run before left
  nlohmann::json document;  // the status.json of that run; null where there is none to go on with
  std::optional<std::string> set_aside;  // a sentence for people: where what the runs before left is now
};

// `store` writes a fresh status before anything of the old run is moved. Saves that lie in memory alone are
// discarded, unless their run is gone on with. A run that has completed goes on where its job's roles are
// others than before: an end may be among their arguments.
[[nodiscard]] Result<Beginning> begin_run(
    const RunFolder& folder, const api::TrainingJob& job, bool starts_over, WallTime now,
    const std::function<Result<void>(const api::TrainingJobStatus&)>& store);

}  // namespace ratoon::local
