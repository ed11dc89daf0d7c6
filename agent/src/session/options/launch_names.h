// Makes a unique name for each launch (one start of torchrun, mpirun or srun). A rank joins only ranks of a
// launch with the same name. All processes of a launch must get the same name, and two launches that save to
// the same folder must get different names.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

namespace ratoon::session {

using LookUpVariable = std::function<std::optional<std::string>(const char* name)>;

// Returns a text that is equal for two processes only if they are on the same machine in the same network
// namespace. All ranks of a launch must get the same text. If the machine cannot be identified,
// identify_machine() therefore returns an error instead of a substitute text.
[[nodiscard]] Result<std::string> identify_machine();

// Returns a text that identifies the process that set `variable`: the closest ancestor process without this
// environment variable. Programs between the launcher and this process, such as a shell, have inherited the
// variable and are skipped. Different ancestors on the same machine have different texts.
[[nodiscard]] Result<std::string> identify_ancestor_without_variable(const std::string& variable);

struct IdentityFunctions {
  std::function<Result<std::string>()> machine = identify_machine;
  std::function<Result<std::string>(const std::string& variable)> ancestor_without =
      identify_ancestor_without_variable;
};

[[nodiscard]] Result<std::string> torchrun_launch_name(const LookUpVariable& variables,
                                                       bool is_on_one_machine, const IdentityFunctions& site);
[[nodiscard]] std::string slurm_step_launch_name(const LookUpVariable& variables);
[[nodiscard]] Result<std::string> open_mpi_launch_name(const LookUpVariable& variables,
                                                       bool is_on_one_machine, const IdentityFunctions& site);
// Makes a name for a launch of Hydra, the launcher of MPICH, which does not name its launches.
[[nodiscard]] Result<std::string> hydra_launch_name(const LookUpVariable& variables, bool is_on_one_machine,
                                                    const IdentityFunctions& site);

// Returns the launches, of one or several nested launchers, that may restart this process. Launches of mpirun
// are left out, because mpirun never restarts a process.
[[nodiscard]] std::vector<LaunchName> read_launches(const LookUpVariable& variables);

}  // namespace ratoon::session
