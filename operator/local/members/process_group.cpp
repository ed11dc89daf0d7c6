#include "operator/local/members/process_group.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/child_process.h"
#include "base/core/unique_fd.h"
#include "operator/local/members/find_program.h"

namespace ratoon::local {
namespace {

constexpr int kChildLifelineFd = 3;

// Owns the file actions and attributes for posix_spawn(), and destroys them.
class SpawnPlan {
 public:
  SpawnPlan(const MemberLaunchPlan& plan, pid_t group) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (plan.log_fd >= 0)
      posix_spawn_file_actions_adddup2(&actions_, plan.log_fd, STDOUT_FILENO);
    else
      posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, plan.log_path.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0644);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    if (plan.lifeline_fd >= 0)
      posix_spawn_file_actions_adddup2(&actions_, plan.lifeline_fd, kChildLifelineFd);
    // Close all other file descriptors: some libraries open sockets without CLOEXEC, and a member must not
    // inherit the coordinator's port.
    posix_spawn_file_actions_addclosefrom_np(&actions_,
                                             plan.lifeline_fd >= 0 ? kChildLifelineFd + 1 : kChildLifelineFd);

    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes_, group);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
  }
  ~SpawnPlan() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  [[nodiscard]] Result<pid_t> spawn(std::vector<std::string> command,
                                    std::vector<std::string> environment) const {
    pid_t pid = 0;
    auto arguments = pointers_to(command);
    auto variables = pointers_to(environment);
    const int error =
        ::posix_spawnp(&pid, arguments.front(), &actions_, &attributes_, arguments.data(), variables.data());
    if (error != 0) return start_error(command.front(), error);
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// Opens the pipe a second time, because each open file description has its own receiver of SIGIO.
Result<UniqueFd> reopen_pipe(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  UniqueFd again(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!again.is_open()) return start_error("a member with the lifeline pipe " + path, errno);
  return again;
}

// Makes the kernel kill the process group when the pipe's last writer has ended, provided that one process of
// the group still has the pipe open.
void kill_group_when_closed(int fd, pid_t group) {
  const bool is_set = ::fcntl(fd, F_SETOWN, -group) == 0 && ::fcntl(fd, F_SETSIG, SIGKILL) == 0 &&
                      ::fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0;
  static_cast<void>(is_set);  // without it the processes outlive a killed runner, with no other effect
}

int exit_code_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace

Result<ProcessGroup> ProcessGroup::launch(const MemberLaunchPlan& plan) {
  ProcessGroup group;
  MemberLaunchPlan own = plan;
  UniqueFd lifeline;
  if (plan.is_killed_with_runner) {
    auto opened = reopen_pipe(plan.lifeline_fd);
    if (!opened) return opened.error();
    lifeline = *std::move(opened);
    own.lifeline_fd = lifeline.get();
  }
  for (const auto& environment : plan.environments) {
    const auto pid = SpawnPlan(own, group.group_id_).spawn(plan.command, environment_with(environment));
    if (!pid) {
      group.kill();
      while (!group.has_ended()) group.reap();
      return pid.error();
    }
    if (group.group_id_ == 0) group.group_id_ = *pid;
    group.running_pids_.push_back(*pid);
  }
  if (lifeline.is_open()) kill_group_when_closed(lifeline.get(), group.group_id_);
  return group;
}

void ProcessGroup::reap() {
  // After the last process has ended, kills its children before the group's number can be reused.
  const auto has_ended = [](pid_t pid) {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid;
  };
  if (std::all_of(running_pids_.begin(), running_pids_.end(), has_ended)) kill();
  std::erase_if(running_pids_, [&](pid_t pid) {
    int status = 0;
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    if (ended == pid && status != 0 && !first_failure_) first_failure_ = exit_code_of(status);
    return true;
  });
  if (first_failure_ && !running_pids_.empty() && !is_interrupted_) kill();
}

void ProcessGroup::interrupt() {
  is_interrupted_ = true;
  send(SIGINT);
}

void ProcessGroup::terminate() {
  is_interrupted_ = true;
  for (const pid_t pid : running_pids_) ::kill(pid, SIGTERM);  // not reaped yet, so its number is not reused
}

void ProcessGroup::kill() const {
  send(SIGKILL);
}

void ProcessGroup::send(int signal) const {
  // While at least one process has not been reaped, the group's number cannot be reused, so the signal cannot
  // reach another group.
  if (group_id_ > 0 && !running_pids_.empty()) ::kill(-group_id_, signal);
}

}  // namespace ratoon::local
