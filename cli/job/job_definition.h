// crds/trainingjob.yaml, by which a cluster validates a TrainingJob, as of the time of the build.
#pragma once

namespace ratoon::cli {

[[nodiscard]] const char* job_definition();

}  // namespace ratoon::cli
