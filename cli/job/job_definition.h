// The text of crds/trainingjob.yaml, compiled into the program. Clusters validate TrainingJobs by this
// definition, so the program can do it too.
#pragma once

namespace ratoon::cli {

[[nodiscard]] const char* job_definition();

}  // namespace ratoon::cli
