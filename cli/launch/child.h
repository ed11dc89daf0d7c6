// A process that `ratoon launch` starts: in a process group of its own, so that it gets a signal once, from
// the launcher, and not a second time from the terminal.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include <ratoon/result.h>

#include "cli/launch/supervision.h"

namespace ratoon::cli {

// Both outputs are ours. The process ends with us, also where we are killed. An error says why the program
// cannot be started; nothing runs then. `restored`: signals that this process ignores by its own choice, and
// that the program gets with their default action.
[[nodiscard]] Result<pid_t> start_child(const std::vector<std::string>& command,
                                        const std::map<std::string, std::string>& environment,
                                        const std::vector<int>& restored);

struct EndedChild {
  pid_t pid = 0;
  ProcessEnd end;
};

// Any child that has ended, also one that was left to us by a child that ended before it (a container's first
// process gets those). What is left of its process group is killed. Returns the default value where none has.
[[nodiscard]] EndedChild reap_child();

}  // namespace ratoon::cli
