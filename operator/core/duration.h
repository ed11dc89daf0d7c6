// How long a job may take, not counting the time for which it was suspended.
#pragma once

#include <optional>
#include <string>

#include "operator/core/observation.h"

namespace ratoon::core {

// Its time runs from now on, unless it does already.
void resume_time(WallTime now, api::TrainingJobStatus& status);
// Its time stands still from now on.
void stop_time(WallTime now, api::TrainingJobStatus& status);

// When the job's time is over, if it ever is.
[[nodiscard]] std::optional<WallTime> end_of_time(const api::TrainingJobSpec& spec,
                                                  const api::TrainingJobStatus& status);

}  // namespace ratoon::core
