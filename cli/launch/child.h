// A process that `ratoon launch` starts. The child has its own process group, so that it receives a signal
// such as Ctrl-C once, from the launcher, and not also from the terminal.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include <ratoon/result.h>

#include "cli/launch/process_supervisor.h"

namespace ratoon::cli {

// Starts the program. The child inherits stdout and stderr, and the kernel kills it when this process
// ends, even by a signal. If the program cannot be started, no process runs, and the error says why.
// `restored` lists signals that only the launcher ignores: the program gets them with their default
// action.
[[nodiscard]] Result<pid_t> start_child(const std::vector<std::string>& command,
                                        const std::map<std::string, std::string>& environment,
                                        const std::vector<int>& restored);

struct EndedChild {
  pid_t pid = 0;
  ProcessEnd end;
};

// Reaps a child process that has ended, and kills the other processes of its group. The ended process may be
// an orphan: a container's first process adopts the processes that an ended child has started. Returns an
// EndedChild with default values if no child has ended.
[[nodiscard]] EndedChild reap_child();

}  // namespace ratoon::cli
