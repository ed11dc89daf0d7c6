#include "base/process/unwritten_lines.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ratoon {
namespace {

constexpr std::size_t kPendingBytesMax = 64 * 1024;
constexpr std::size_t kRoomForLinesBytes = 16 * 1024;

// Opens the pipe `fd` a second time, as a non-blocking descriptor. If `fd` is not a pipe, or if the system
// refuses to open it, returns an empty UniqueFd, and lines are written to `fd` itself.
UniqueFd reopen_pipe(int fd) {
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

UnwrittenLines::UnwrittenLines(int fd) : output_fd_(fd), nonblocking_fd_(reopen_pipe(fd)) {}

void UnwrittenLines::add(const std::string& line) {
  if (pending_text_.size() >= kPendingBytesMax) {
    ++dropped_lines_;
    return;
  }
  add_dropped_lines_notice();
  pending_text_ += line + "\n";
}

bool UnwrittenLines::has_room() const {
  return pending_text_.size() < kRoomForLinesBytes;
}

bool UnwrittenLines::is_writable() const {
  return becomes_writable(output_fd_, 0);
}

void UnwrittenLines::write_without_blocking() {
  while (!pending_text_.empty() && is_writable() && write_part()) {
  }
}

void UnwrittenLines::write_all(int pause_max_ms) {
  add_dropped_lines_notice();
  while (!pending_text_.empty() && becomes_writable(output_fd_, pause_max_ms))
    static_cast<void>(write_part());
}

std::string UnwrittenLines::take() {
  return std::exchange(pending_text_, {});
}

void UnwrittenLines::add_dropped_lines_notice() {
  if (dropped_lines_ == 0) return;
  pending_text_ += std::to_string(dropped_lines_) +
                   " lines are left out here, because this output was not read for a while\n";
  dropped_lines_ = 0;
}

bool UnwrittenLines::write_part() {
  // If poll() says that a pipe is writable, the pipe has room for at least PIPE_BUF bytes.
  const std::size_t part = std::min<std::size_t>(pending_text_.size(), PIPE_BUF);
  const ssize_t written =
      ::write(nonblocking_fd_.is_open() ? nonblocking_fd_.get() : output_fd_, pending_text_.data(), part);
  if (written < 0 && errno == EAGAIN) return false;
  if (written < 0 && errno == EINTR) return true;
  if (written < 0)
    pending_text_.clear();  // no program reads it any longer; this one continues
  else
    pending_text_.erase(0, static_cast<std::size_t>(written));
  return true;
}

}  // namespace ratoon
