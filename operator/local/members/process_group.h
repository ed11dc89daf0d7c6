// ProcessGroup: the processes of one local member. The processes share a process group, so that a signal
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
  int lifeline_fd = -1;  // passed to each process as descriptor 3
  // The kernel ends the processes with the runner: the processes themselves need not watch the lifeline.
  bool ends_with_lifeline = false;
  api::ResourceLimits limits{};  // for all processes together; the caller enforces them
};

class ProcessGroup {
 public:
  // Starts all processes, or none. An error explains why the program cannot be started.
  [[nodiscard]] static Result<ProcessGroup> launch(const MemberLaunchPlan& plan);

  // Records processes that have ended. Once one process has failed, the other processes of the member are
  // killed: a member is either whole or lost. The end of the last process also kills its children.
  void reap();
  void kill() const;
  void send(int signal) const;
  // Sends SIGINT, like Ctrl-C at a terminal. Each process leaves when it is ready; the end of one process
  // does not kill the others.
  void interrupt();

  [[nodiscard]] bool has_ended() const { return living_.empty(); }
  // The exit code after the end: 0 if all processes exited with 0, else the code of the first that did not;
  // 128 + n after signal n.
  [[nodiscard]] int exit_code() const { return first_failure_.value_or(0); }
  [[nodiscard]] const std::vector<pid_t>& living() const { return living_; }

 private:
  pid_t group_ = 0;
  std::vector<pid_t> living_;
  std::optional<int> first_failure_;
  bool is_interrupted_ = false;
};

}  // namespace ratoon::local
