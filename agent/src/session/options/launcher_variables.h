// Reads the variables that torchrun, mpirun, srun and `ratoon launch` set for their processes.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/session/options/launch_names.h"

namespace ratoon::session {

// Reads the variables of torchrun, of mpirun (Open MPI, or Hydra of MPICH), or of a Slurm step. A batch
// script that Slurm runs is not a step: a process that it starts without srun is a single process. The result
// also names the launches to which this process belongs. If variables contradict each other, the error names
// them.
[[nodiscard]] Result<GroupOptions> read_launcher_variables(const Variables& variables,
                                                           const LaunchSite& site = {});

// If a member (a pod or host) has several processes, checks that this process knows its local rank.
[[nodiscard]] Result<void> check_local_rank(const MemberOptions& member, const Variables& variables);

}  // namespace ratoon::session
