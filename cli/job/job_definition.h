// The text of crds/trainingjob.yaml at the time of the build. A cluster uses the definition to validate a
// TrainingJob.
#pragma once

namespace ratoon::cli {

[[nodiscard]] const char* job_definition();

}  // namespace ratoon::cli
