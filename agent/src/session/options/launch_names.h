// Makes the names of launches. Ranks form a world only with ranks of a launch with the same name. Therefore
// all processes of a launch need one name, and two launches that save in one folder need different names.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/options.h>

namespace ratoon::session {

using Variables = std::function<std::optional<std::string>(const char* name)>;

// Returns a text that is equal for two processes only if they run on one machine in one network namespace, so
// that they cannot both listen at one port.
[[nodiscard]] std::string identify_machine();

// Identifies the process that set `variable`: the closest ancestor that does not have the variable itself.
// Programs between the launcher and this process, such as a shell, inherit the variable and do not count. For
// two ancestors on one machine, the texts differ.
[[nodiscard]] std::string identify_ancestor_without(const std::string& variable);

struct LaunchSite {
  std::function<std::string()> machine = identify_machine;
  std::function<std::string(const std::string& variable)> ancestor_without = identify_ancestor_without;
};

[[nodiscard]] std::string name_of_torchrun(const Variables& variables, bool is_on_one_machine,
                                           const LaunchSite& site);
[[nodiscard]] std::string name_of_slurm_step(const Variables& variables);
[[nodiscard]] std::string name_of_open_mpi(const Variables& variables, bool is_on_one_machine,
                                           const LaunchSite& site);
// Makes a name for the launch, because Hydra, the launcher of MPICH, gives its processes none.
[[nodiscard]] std::string name_of_hydra(const Variables& variables, bool is_on_one_machine,
                                        const LaunchSite& site);

// Returns the launches that may restart this process. mpirun never restarts a process.
[[nodiscard]] std::vector<LaunchName> read_launches(const Variables& variables);

}  // namespace ratoon::session
