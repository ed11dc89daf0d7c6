// The variables that torchrun, srun and `ratoon launch` set for the processes that they start.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <ratoon/options.h>
#include <ratoon/result.h>

namespace ratoon::session {

using Variables = std::function<std::optional<std::string>(const char* name)>;

// A text that is the same for all processes of this machine that share a network namespace, and different for
// all others. Such processes cannot listen at the same port.
[[nodiscard]] std::string identify_machine();

// Reads RANK, WORLD_SIZE and the like, or else the variables of a Slurm step. A batch script that Slurm runs
// is not a step: a process that it starts without srun is a single process. The result also has the launches
// to which the process belongs. If variables contradict each other, the error names them.
[[nodiscard]] Result<GroupOptions> read_launcher_variables(
    const Variables& variables, const std::function<std::string()>& machine = identify_machine);

// If a member has several processes, each process must know its number.
[[nodiscard]] Result<void> check_local_rank(const MemberOptions& member, const Variables& variables);

}  // namespace ratoon::session
