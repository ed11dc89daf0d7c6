#include "operator/runtime/api_server/run_program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/child_process.h"
#include "base/core/unique_fd.h"

namespace ratoon::runtime {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kOutputBytesMax = std::size_t{1} << 20U;

// Starts the program in a process group of its own, so that its children can be killed with it. Returns the
// process id, never 0.
Result<pid_t> start_program(const ProgramCall& call, int output) {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  auto words = call.words;
  auto environment = environment_with(call.variables);
  auto arguments = pointers_to(words);
  auto variables = pointers_to(environment);
  pid_t pid = 0;
  const int problem =
      ::posix_spawnp(&pid, arguments.front(), &actions, &attributes, arguments.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) return system_error(problem, "starting '" + call.words.front() + "'");
  return pid;
}

// Reads the program's output to its end; returns nothing if the deadline passes or the output is too long.
std::optional<std::string> read_until_end(int fd, steady_clock::time_point deadline) {
  std::string printed;
  std::array<char, 4096> chunk{};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0 || printed.size() > kOutputBytesMax) return std::nullopt;
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1000))) <= 0) continue;
    const auto size = ::read(fd, chunk.data(), chunk.size());
    if (size == 0) return printed;
    if (size < 0 && errno != EINTR) return std::nullopt;
    if (size > 0) printed.append(chunk.data(), static_cast<std::size_t>(size));
  }
}

// Waits until the program ends and returns the status of waitpid(). Kills the program at the deadline, or at
// once if `is_unwanted`.
int wait_for_exit(pid_t pid, bool is_unwanted, steady_clock::time_point deadline, bool& was_killed) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
  pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
  const int timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  was_killed = is_unwanted || (process.is_open() && ::poll(&ended, 1, timeout) == 0);
  if (was_killed) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

Result<std::string> run_program(const ProgramCall& call) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "making a pipe");
  const UniqueFd output(ends[0]);
  UniqueFd input(ends[1]);
  const auto pid = start_program(call, input.get());
  input.reset();
  if (!pid) return pid.error();
  const auto deadline = steady_clock::now() + call.timeout;
  const auto printed = read_until_end(output.get(), deadline);
  bool was_killed = false;
  const int status = wait_for_exit(*pid, !printed, deadline, was_killed);
  const std::string name = "'" + call.words.front() + "'";
  if (was_killed)
    return Error(ErrorKind::kTimeout, name + " did not end within " +
                                          std::to_string(call.timeout / std::chrono::seconds(1)) +
                                          " s, or printed more than 1 MiB; it was killed");
  if (WIFSIGNALED(status))
    return Error(ErrorKind::kUnavailable, name + " was ended by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    return Error(ErrorKind::kUnavailable,
                 name + " ended with exit code " + std::to_string(WEXITSTATUS(status)));
  return *printed;
}

}  // namespace ratoon::runtime
