// `ratoon suspend` and `ratoon resume` for a cluster: change spec.suspend of one TrainingJob.
#pragma once

#include <string>

#include "cli/cluster/access/cluster_selection.h"

namespace ratoon::cli {

// Returns the exit code of `ratoon suspend` or `ratoon resume`.
[[nodiscard]] int suspend_job(const ClusterSelection& selection, const std::string& name, bool is_suspended);

}  // namespace ratoon::cli
