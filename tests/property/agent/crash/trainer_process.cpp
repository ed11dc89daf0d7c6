#include "tests/property/agent/crash/trainer_process.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ratoon::test {
namespace {

bool is_ready(int fd, int milliseconds) {
  pollfd asked{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&asked, 1, milliseconds) == 1;
}

}  // namespace

TrainerProcess::TrainerProcess(const std::vector<std::string>& words) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "checkpoint_trainer";
  std::vector<std::string> all{program.string()};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) std::abort();
  output_ = UniqueFd(pipe[0]);
  const UniqueFd theirs(pipe[1]);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(theirs.get(), STDOUT_FILENO);
    ::execv(arguments.front(), arguments.data());
    std::_Exit(127);
  }
  handle_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!handle_.is_open()) std::abort();
}

TrainerProcess::~TrainerProcess() {
  kill();
}

bool TrainerProcess::has_ended_in(int milliseconds) {
  if (is_reaped_) return true;
  if (!is_ready(handle_.get(), milliseconds)) return false;
  is_reaped_ = ::waitpid(pid_, &status_, 0) == pid_;
  return is_reaped_;
}

void TrainerProcess::kill() {
  if (is_reaped_) return;
  static_cast<void>(::kill(pid_, SIGKILL));
  is_reaped_ = ::waitpid(pid_, &status_, 0) == pid_;
}

bool TrainerProcess::read_more(int milliseconds) {
  if (!is_ready(output_.get(), milliseconds)) return false;
  std::array<char, 4096> piece{};
  const ssize_t got = ::read(output_.get(), piece.data(), piece.size());
  if (got > 0) text_.append(piece.data(), static_cast<std::size_t>(got));
  return got > 0;
}

std::string TrainerProcess::take_line() {
  const auto end = text_.find('\n');
  if (end == std::string::npos) return {};
  last_line_ = text_.substr(0, end);
  text_.erase(0, end + 1);
  return last_line_;
}

std::string TrainerProcess::next_line() {
  while (text_.find('\n') == std::string::npos && read_more(-1)) {
  }
  return take_line();
}

std::vector<std::string> TrainerProcess::lines_by_now() {
  while (read_more(0)) {
  }
  std::vector<std::string> lines;
  for (std::string line = take_line(); !line.empty(); line = take_line()) lines.push_back(line);
  return lines;
}

bool TrainerProcess::was_killed() const {
  return is_reaped_ && WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL;
}

int TrainerProcess::exit_code() const {
  return is_reaped_ && WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
}

}  // namespace ratoon::test
