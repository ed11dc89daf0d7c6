#include "cli/launch/child.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/child_process.h"
#include "base/core/unique_fd.h"
#include "operator/local/members/find_program.h"

namespace ratoon::cli {
namespace {

// Runs in the child between fork() and exec(), so it calls only functions that are allowed there.
[[noreturn]] void become(const std::vector<char*>& command,
                         const std::map<std::string, std::string>& environment,
                         const std::vector<int>& restored, pid_t parent, int errors) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent had ended before prctl()
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : restored) ::signal(number, SIG_DFL);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::execvp(command.front(), command.data());
  const int error = errno;
  static_cast<void>(::write(errors, &error, sizeof error));
  ::_exit(127);
}

// A pipe that closes without a byte means that exec() succeeded; otherwise the child writes its errno.
Result<void> wait_for_exec(int errors, const std::string& program) {
  int error = 0;
  ssize_t got = 0;
  do got = ::read(errors, &error, sizeof error);
  while (got < 0 && errno == EINTR);
  if (got != sizeof error) return {};
  return local::cannot_start(program, error);
}

}  // namespace

Result<pid_t> start_child(const std::vector<std::string>& command,
                          const std::map<std::string, std::string>& environment,
                          const std::vector<int>& restored) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return local::cannot_start(command.front(), errno);
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  std::vector<std::string> words = command;
  const std::vector<char*> pointers = pointers_to(words);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return local::cannot_start(command.front(), errno);
  if (pid == 0) become(pointers, environment, restored, parent, theirs.get());
  ::setpgid(pid, pid);  // also in the parent: a signal may be forwarded before the child has called it
  theirs.reset();
  if (auto started = wait_for_exec(ours.get(), command.front()); !started) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return started.error();
  }
  return pid;
}

EndedChild reap_child() {
  siginfo_t info{};
  // Kills the child's process group before it reaps the child: after the child is reaped, the group's id may
  // be reused.
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return {};
  ::kill(-info.si_pid, SIGKILL);
  while (::waitpid(info.si_pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  const bool was_killed = info.si_code != CLD_EXITED;
  return {.pid = info.si_pid,
          .end = {.code = was_killed ? 128 + info.si_status : info.si_status, .was_killed = was_killed}};
}

}  // namespace ratoon::cli
