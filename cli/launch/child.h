// A process that `ratoon launch` starts. The child has its own process group, so that it receives each signal
// once, from the launcher, and not a second time from the terminal.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include <ratoon/result.h>

#include "cli/launch/process_supervisor.h"

namespace ratoon::cli {

// Starts the program. The child inherits both outputs, and is killed when this process ends, also by a
// signal. An error explains why the program cannot be started; in that case no process runs. `restored` has
// the signals that this process ignores by its own choice, and that the program gets with their default
// action.
[[nodiscard]] Result<pid_t> start_child(const std::vector<std::string>& command,
                                        const std::map<std::string, std::string>& environment,
                                        const std::vector<int>& restored);

struct EndedChild {
  pid_t pid = 0;
  ProcessEnd end;
};

// Reaps a child that has ended. The process may be one that an ended child left to us, because a container's
// first process adopts such processes. Kills the other processes of the child's group. Returns the default
// value if no child has ended.
[[nodiscard]] EndedChild reap_child();

}  // namespace ratoon::cli
