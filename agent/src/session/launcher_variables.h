// What torchrun, srun and `ratoon launch` tell the processes that they start.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <ratoon/options.h>
#include <ratoon/result.h>

namespace ratoon::session {

using Variables = std::function<std::optional<std::string>(const char* name)>;

// RANK, WORLD_SIZE and the like; else those of a Slurm step. A batch script that Slurm runs is no step: what
// it starts without srun is alone. With the launches that it is of, alone or not. An error names variables
// that contradict each other.
[[nodiscard]] Result<GroupOptions> read_launcher_variables(const Variables& variables);

// A process of a job's member that is to have several must know which of them it is.
[[nodiscard]] Result<void> check_local_rank(const MemberOptions& member, const Variables& variables);

}  // namespace ratoon::session
