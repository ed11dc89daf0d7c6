// base/process/: starts, reaps and restarts the processes of one container. Each started process gets its own
// process group. So it receives a signal such as that of Ctrl-C only once: from the program that started it,
// and not from the terminal.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <ratoon/result.h>

#include "base/process/process_supervisor.h"

namespace ratoon {

struct ChildPlan {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // all of it, as "NAME=value"
  // Signals that this process ignores. The started program gets them with their default action instead.
  std::vector<int> restored_signals{};
  // Returns the error for a program `name` that could not be started; `problem` is the errno of the failure.
  Error (*explain)(const std::string& name, int problem) = nullptr;
};

// Starts the program. The child inherits stdout and stderr, and the kernel kills it when the calling thread
// ends, even by a signal. If the program cannot be started, no process runs, and the error is that of
// `explain`. Other threads may run in this process during the call.
[[nodiscard]] Result<pid_t> start_child(const ChildPlan& plan);

struct EndedChild {
  pid_t pid = 0;
  ProcessEnd end;
};

// Reaps a child process that has ended. If `is_started_here` says that this process started the child, kills
// the other processes of the child's group. The ended process may also be an orphan: a container's first
// process adopts the processes that an ended child has started. Living processes of an orphan's group may be
// daemons of the program. Returns an EndedChild with default values if no child has ended.
[[nodiscard]] EndedChild reap_child(const std::function<bool(pid_t)>& is_started_here);

}  // namespace ratoon
