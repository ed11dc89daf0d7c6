// `ratoon status` for a cluster: asks its API server for TrainingJobs and shows them.
#pragma once

#include <string>

#include "cli/cluster/wish.h"
#include "cli/run/page.h"

namespace ratoon::cli {

// An empty name: all jobs of the namespace. Returns the exit code.
[[nodiscard]] int show_jobs(const ClusterWish& wish, const std::string& name, const Display& display);

}  // namespace ratoon::cli
