// The variables that torchrun, srun and `ratoon launch` set for the processes that they start.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <ratoon/options.h>
#include <ratoon/result.h>

namespace ratoon::session {

using Variables = std::function<std::optional<std::string>(const char* name)>;

// Reads RANK, WORLD_SIZE and the like, or else the variables of a Slurm step. A batch script that Slurm runs
// is no step: a process that it starts without srun is alone. The result also has the launches that the
// process belongs to. An error names variables that contradict each other.
[[nodiscard]] Result<GroupOptions> read_launcher_variables(const Variables& variables);

// A process of a member with several processes must know which of them it is.
[[nodiscard]] Result<void> check_local_rank(const MemberOptions& member, const Variables& variables);

}  // namespace ratoon::session
