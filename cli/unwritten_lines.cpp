#include "cli/unwritten_lines.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ratoon::cli {
namespace {

constexpr std::size_t kKeptBytesMax = 64 * 1024;
constexpr std::size_t kRoomBytes = 16 * 1024;

// Opens the pipe `fd` a second time, as a non-blocking descriptor. If `fd` is not a pipe, or if the system
// refuses to open it, the result is no open descriptor, and lines are written to `fd`.
UniqueFd open_pipe_again(int fd) {
  struct stat facts{};
  if (::fstat(fd, &facts) != 0 || !S_ISFIFO(facts.st_mode)) return {};
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return UniqueFd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

bool becomes_writable(int fd, int limit_ms) {
  pollfd output{.fd = fd, .events = POLLOUT, .revents = 0};
  int ready = 0;
  do ready = ::poll(&output, 1, limit_ms);
  while (ready < 0 && errno == EINTR);
  return ready != 0;
}

}  // namespace

UnwrittenLines::UnwrittenLines(int fd) : given_fd_(fd), own_fd_(open_pipe_again(fd)) {}

void UnwrittenLines::add(const std::string& line) {
  if (kept_.size() >= kKeptBytesMax) {
    ++left_out_;
    return;
  }
  note_dropped_lines();
  kept_ += line + "\n";
}

bool UnwrittenLines::has_room() const {
  return kept_.size() < kRoomBytes;
}

bool UnwrittenLines::takes_output() const {
  return becomes_writable(given_fd_, 0);
}

void UnwrittenLines::write_what_fits() {
  while (!kept_.empty() && takes_output() && write_part()) {
  }
}

void UnwrittenLines::write_all(int pause_max_ms) {
  note_dropped_lines();
  while (!kept_.empty() && becomes_writable(given_fd_, pause_max_ms)) static_cast<void>(write_part());
}

std::string UnwrittenLines::take() {
  return std::exchange(kept_, {});
}

void UnwrittenLines::note_dropped_lines() {
  if (left_out_ == 0) return;
  kept_ +=
      std::to_string(left_out_) + " lines are left out here, because this output was not read for a while\n";
  left_out_ = 0;
}

bool UnwrittenLines::write_part() {
  // If poll() says that a pipe is writable, the pipe has room for at least PIPE_BUF bytes.
  const std::size_t part = std::min<std::size_t>(kept_.size(), PIPE_BUF);
  const ssize_t written = ::write(own_fd_.is_open() ? own_fd_.get() : given_fd_, kept_.data(), part);
  if (written < 0 && errno == EAGAIN) return false;
  if (written < 0 && errno == EINTR) return true;
  if (written < 0)
    kept_.clear();  // no program reads it any longer; this one continues
  else
    kept_.erase(0, static_cast<std::size_t>(written));
  return true;
}

}  // namespace ratoon::cli
