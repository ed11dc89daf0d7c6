// ProcessGroup: the processes of one local member. They share a process group, so that a signal reaches all
// of them and their children.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <ratoon/result.h>

#include "operator/api/training_job.h"

namespace ratoon::local {

struct LaunchPlan {
  std::vector<std::string> command;
  std::vector<std::map<std::string, std::string>>
      environments;                 // one a process, on top of our own environment
  std::string log_path;             // both outputs are appended
  int lifeline_fd = -1;             // handed to each process as descriptor 3
  bool ends_with_lifeline = false;  // the kernel ends the processes with it: they do not know of it
  api::Limits limits{};             // of all its processes together; for the machine that starts it
};

class ProcessGroup {
 public:
  // Starts all processes, or none: an error says why the program cannot be started.
  [[nodiscard]] static Result<ProcessGroup> launch(const LaunchPlan& plan);

  // Takes note of processes that ended. Once one has failed, the rest is killed: a member is whole or lost.
  // What they started ends with the last of them.
  void reap();
  void kill() const;
  // As Ctrl-C at a terminal. Each leaves when it is done; that one has left is no reason to kill the rest.
  void interrupt();

  [[nodiscard]] bool has_ended() const { return living_.empty(); }
  // Once ended: 0 if all left with 0, else the code of the first that did not; 128 + n after signal n.
  [[nodiscard]] int exit_code() const { return first_failure_.value_or(0); }
  [[nodiscard]] const std::vector<pid_t>& living() const { return living_; }

 private:
  pid_t group_ = 0;
  std::vector<pid_t> living_;
  std::optional<int> first_failure_;
  bool is_interrupted_ = false;
};

}  // namespace ratoon::local
