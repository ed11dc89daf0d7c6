// ProcessGroup: the processes of one local member. The processes share a Unix process group, so that a signal
// reaches all of them and their children.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <ratoon/result.h>

#include "operator/api/training_job.h"

namespace ratoon::local {

struct MemberLaunchPlan {
  std::vector<std::string> command;
  std::vector<std::map<std::string, std::string>>
      environments;      // one for each process, added to the runner's environment
  std::string log_path;  // both outputs are appended to it
  int log_fd = -1;       // the open log; -1: launch() opens it and waits for its disk
  int lifeline_fd = -1;  // passed to each process as descriptor 3
  // True if the kernel kills the processes when `ratoon run` ends, so that they need not watch the lifeline
  // (a pipe that closes at that time).
  bool is_killed_with_runner = false;
  api::ResourceLimits limits{};  // for all processes together; the caller enforces them
};

class ProcessGroup {
 public:
  // Starts all processes of the plan, or none. An error explains why the program cannot be started.
  [[nodiscard]] static Result<ProcessGroup> launch(const MemberLaunchPlan& plan);

  // Reaps processes that have ended. If a process failed, kills the member's other processes, because a
  // member without one of its processes is lost. After the last process has ended, kills the group's
  // remaining children.
  void reap();
  void kill() const;
  void send(int signal) const;
  // Sends SIGINT, like Ctrl-C at a terminal. After interrupt(), reap() does not kill the other processes if
  // one process fails, so that each process can end when it is ready.
  void interrupt();
  // Sends SIGTERM to the processes of the plan, but not to their children: in a container, only the first
  // process gets the signal. After terminate(), reap() acts as after interrupt().
  void terminate();

  [[nodiscard]] bool has_ended() const { return running_pids_.empty(); }
  // Returns the member's exit code after its end: 0 if all processes exited with 0, else the code of the
  // first process that did not (128 + n after signal n).
  [[nodiscard]] int exit_code() const { return first_failure_.value_or(0); }
  [[nodiscard]] const std::vector<pid_t>& running_pids() const { return running_pids_; }

 private:
  pid_t group_id_ = 0;
  std::vector<pid_t> running_pids_;
  std::optional<int> first_failure_;
  bool is_interrupted_ = false;
};

}  // namespace ratoon::local
