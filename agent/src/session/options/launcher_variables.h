// Reads the environment variables that torchrun, mpirun, srun and `ratoon launch` set for their processes.
#pragma once

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/session/options/launch_names.h"

namespace ratoon::session {

// Reads the rank and the number of ranks from the variables of torchrun, of mpirun (Open MPI, or Hydra of
// MPICH), or of srun. A process that a Slurm batch script starts without srun counts as a single process. The
// result also has the names of the launches to which this process belongs. Returns an error that names the
// variables if two of them contradict each other.
[[nodiscard]] Result<GroupOptions> read_launcher_variables(const LookUpVariable& variables,
                                                           const IdentityFunctions& identity_functions = {});

// If a member of the job (a pod or host) has several processes, checks that a variable gives this process its
// local rank.
[[nodiscard]] Result<void> check_local_rank(const MemberOptions& member, const LookUpVariable& variables);

}  // namespace ratoon::session
