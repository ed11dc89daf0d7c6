// crds/trainingjob.yaml, the definition by which a cluster checks a TrainingJob, as it was when this was
// built.
#pragma once

namespace ratoon::cli {

[[nodiscard]] const char* job_definition();

}  // namespace ratoon::cli
