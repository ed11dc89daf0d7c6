// The names of launches. Ranks form a world only with ranks of the launch of their own name, so two launches
// that save in one folder need different names, and all processes of a launch the same.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/options.h>

namespace ratoon::session {

using Variables = std::function<std::optional<std::string>(const char* name)>;

// A text that is the same for all processes of this machine that share a network namespace, and different for
// all others. Such processes cannot listen at the same port.
[[nodiscard]] std::string identify_machine();

// Identifies the process that set this variable: the closest ancestor without it. Programs between the
// launcher and this process, such as a shell, inherit the variable and do not count. The text differs for two
// ancestors of one machine.
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
// Hydra, the launcher of MPICH, gives its processes no name of the launch.
[[nodiscard]] std::string name_of_hydra(const Variables& variables, bool is_on_one_machine,
                                        const LaunchSite& site);

// The launches that may start this process again. mpirun starts no process again.
[[nodiscard]] std::vector<LaunchName> read_launches(const Variables& variables);

}  // namespace ratoon::session
