#include "base/process/child.h"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/child_process.h"
#include "base/core/unique_fd.h"

namespace ratoon {
namespace {

// Runs in the child between fork() and exec(). Allocates no memory, because another thread of the parent may
// have held the allocator's lock during fork().
[[noreturn]] void exec_program(char* const* command, char* const* environment,
                               const std::vector<int>& restored, pid_t parent, int errors) {
  ::setpgid(0, 0);
  // The terminal belongs to the parent's process group: a child that read from it would be stopped for ever.
  if (::isatty(STDIN_FILENO) == 1) {
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent had ended before prctl()
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : restored) ::signal(number, SIG_DFL);
  ::execvpe(command[0], command, environment);
  const int error = errno;
  static_cast<void>(::write(errors, &error, sizeof error));
  ::_exit(127);
}

// A pipe that closes without a byte means that exec() succeeded; otherwise the child writes its errno.
// Returns the child's errno, or 0.
int wait_for_exec(int errors) {
  int error = 0;
  ssize_t got = 0;
  do got = ::read(errors, &error, sizeof error);
  while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

}  // namespace

Result<pid_t> start_child(const ChildPlan& plan) {
  const std::string& name = plan.command.front();
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return plan.explain(name, errno);
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  std::vector<std::string> words = plan.command;
  std::vector<std::string> variables = plan.environment;
  const std::vector<char*> command = pointers_to(words);
  const std::vector<char*> environment = pointers_to(variables);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return plan.explain(name, errno);
  if (pid == 0) exec_program(command.data(), environment.data(), plan.restored_signals, parent, theirs.get());
  ::setpgid(pid, pid);  // also in the parent: a signal may be forwarded before the child has called it
  theirs.reset();
  if (const int error = wait_for_exec(ours.get()); error != 0) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return plan.explain(name, error);
  }
  return pid;
}

EndedChild reap_child(const std::function<bool(pid_t)>& is_started_here) {
  siginfo_t info{};
  // Kills the child's process group before it reaps the child, because the group's id may be reused after the
  // child is reaped.
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return {};
  if (is_started_here(info.si_pid)) ::kill(-info.si_pid, SIGKILL);
  while (::waitpid(info.si_pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  const bool was_killed = info.si_code != CLD_EXITED;
  return {.pid = info.si_pid,
          .end = {.code = was_killed ? 128 + info.si_status : info.si_status, .was_killed = was_killed}};
}

}  // namespace ratoon
