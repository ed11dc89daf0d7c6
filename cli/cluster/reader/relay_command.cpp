// `ratoon relay -- WORDS`: runs `ratoon WORDS` and writes its output as relayed_output.h describes. Reader
// pods run the command; people do not, so --help does not list it.
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/contract/exit_code.h"
#include "base/core/child_process.h"
#include "base/core/unique_fd.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/cluster/reader/relayed_output.h"
#include "cli/command.h"

namespace ratoon::cli {
namespace {

constexpr const char* kOwnProgramPath = "/proc/self/exe";
constexpr int kSignalExitCodeBase = 128;  // of a process that a signal ended, as in a shell

struct Pipe {
  UniqueFd reading;
  UniqueFd writing;
};

Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error(errno, "making a pipe");
  return Pipe{.reading = UniqueFd(ends[0]), .writing = UniqueFd(ends[1])};
}

Result<pid_t> start_program(const std::vector<std::string>& words, int output, int errors) {
  std::vector<std::string> command = {"ratoon"};
  command.insert(command.end(), words.begin(), words.end());
  const std::vector<char*> arguments = pointers_to(command);
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, kOwnProgramPath, &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return system_error(error, "starting ratoon again");
  return pid;
}

// Passes on the two streams until both have ended. Returns the number of bytes of standard output.
std::uint64_t relay_output(int output, int errors) {
  RelayLines lines[] = {RelayLines(RelayedStream::kOutput), RelayLines(RelayedStream::kErrors)};
  pollfd ends[] = {{.fd = output, .events = POLLIN, .revents = 0},
                   {.fd = errors, .events = POLLIN, .revents = 0}};
  char buffer[65536];
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    if (::poll(ends, 2, -1) < 0 && errno != EINTR) break;
    for (std::size_t i = 0; i < 2; ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      const ssize_t got = ::read(ends[i].fd, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      print_text(got > 0 ? lines[i].add({buffer, static_cast<std::size_t>(got)}) : lines[i].end());
      if (got <= 0) ends[i].fd = -1;  // poll() ignores a negative descriptor
    }
  }
  return lines[0].bytes();
}

Result<int> relay(const std::vector<std::string>& words) {
  auto output = make_pipe();
  if (!output) return output.error();
  auto errors = make_pipe();
  if (!errors) return errors.error();
  const auto child = start_program(words, output->writing.get(), errors->writing.get());
  if (!child) return child.error();
  output->writing.reset();
  errors->writing.reset();
  const std::uint64_t bytes = relay_output(output->reading.get(), errors->reading.get());
  int status = 0;
  while (::waitpid(*child, &status, 0) < 0 && errno == EINTR) {
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalExitCodeBase + WTERMSIG(status);
  print_text(make_end_line(code, bytes));
  return code;
}

}  // namespace

void add_relay_command(CLI::App& app, int& exit_code) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("relay", "Run a command of ratoon and write its output as a log");
  command->group("");  // hidden
  command->add_option("words", *words, "The command and its arguments, after --")->required();
  command->callback([words, &exit_code] {
    const auto code = relay(*words);
    exit_code = code ? *code : print_error_and_exit_code(code.error());
  });
}

}  // namespace ratoon::cli
