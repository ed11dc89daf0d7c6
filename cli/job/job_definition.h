// The text of crds/trainingjob.yaml, compiled into the program. Clusters validate TrainingJobs by this
// definition, so the program can validate a TrainingJob in the same way.
#pragma once

namespace ratoon::cli {

[[nodiscard]] const char* job_definition();

}  // namespace ratoon::cli
