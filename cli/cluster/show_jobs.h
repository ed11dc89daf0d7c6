// `ratoon status` for a cluster: asks its API server for TrainingJobs and shows them.
#pragma once

#include <string>

#include "cli/cluster/access/cluster_selection.h"
#include "cli/run/status_output.h"

namespace ratoon::cli {

// An empty `name` means all jobs of the namespace. Returns the exit code of the command.
[[nodiscard]] int show_jobs(const ClusterSelection& selection, const std::string& name,
                            const StatusDisplay& display);

}  // namespace ratoon::cli
