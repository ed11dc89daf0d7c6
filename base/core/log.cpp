#include "base/core/log.h"

#include <cerrno>

#include <poll.h>
#include <unistd.h>

#include "base/core/log_line.h"
#include "base/core/threads/mutex.h"

namespace ratoon {

namespace {

// The fields that a logger adds to every line get at most a quarter of the line, so that there is always room
// for the fields of the logged event.
constexpr std::size_t kMaxConstantBytes = Logger::kMaxLineBytes / 4;

// How long the logger waits for room in a full non-blocking pipe before it drops a line, so that training
// continues.
constexpr int kFullPipeWaitMillis = 100;

bool wait_until_writable(int fd) {
  pollfd entry{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&entry, 1, kFullPipeWaitMillis) == 1;
}

// Returns the number of bytes of `text` that were written: all, unless the file descriptor refuses them.
std::size_t write_all(int fd, std::string_view text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(fd, text.data() + written, text.size() - written);
    if (count >= 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      if (!wait_until_writable(fd)) break;
    } else if (errno != EINTR) {
      break;
    }
  }
  return written;
}

}  // namespace

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "unknown";
}

// The state that all loggers of one descriptor share.
class Logger::Sink {
 public:
  Sink(const Clock& clock, int fd, LogFormat format) : clock_(clock), fd_(fd), format_(format) {}

  [[nodiscard]] std::string time() const { return format_rfc3339(clock_.wall_now()); }
  [[nodiscard]] LogFormat format() const { return format_; }

  // Writes the line with one write(2), so that lines of several processes never mix in a pipe (up to
  // PIPE_BUF) or a file opened with O_APPEND. If write(2) writes only a part of the line, the lock keeps
  // other threads of this process from writing into it.
  void write_line(std::string line) {
    const MutexLock lock(mutex_);
    if (is_last_line_torn_) line.insert(line.begin(), '\n');
    const std::size_t written = write_all(fd_, line);
    const bool is_whole = written == line.size();
    if (written > 0) is_last_line_torn_ = !is_whole;
    if (!is_whole) ++dropped_lines_;
  }

  [[nodiscard]] std::uint64_t dropped_lines() const {
    const MutexLock lock(mutex_);
    return dropped_lines_;
  }

 private:
  const Clock& clock_;
  const int fd_;
  const LogFormat format_;
  mutable Mutex mutex_;
  bool is_last_line_torn_ RATOON_GUARDED_BY(mutex_) = false;
  std::uint64_t dropped_lines_ RATOON_GUARDED_BY(mutex_) = 0;
};

Logger::Logger(const Clock& clock, const LogOptions& options, Fields constant_fields)
    : sink_(std::make_shared<Sink>(clock, options.fd, options.format)), min_level_(options.min_level) {
  add_constant_fields(constant_fields);
}

void Logger::log(LogLevel level, std::string_view message, std::span<const LogField> fields) const {
  if (!is_enabled(level)) return;
  const int callers_errno = errno;
  LogLine line(sink_->format(), kMaxLineBytes);
  line.begin(sink_->time(), level, message);
  line.add_rendered(constant_fields_, are_constant_fields_cut_);
  line.add(fields);
  sink_->write_line(std::move(line).end());
  errno = callers_errno;
}

Logger Logger::with(Fields fields) const {
  Logger child = *this;
  child.add_constant_fields(fields);
  return child;
}

void Logger::add_constant_fields(Fields fields) {
  LogLine rendered(sink_->format(), kMaxConstantBytes);
  rendered.add_rendered(constant_fields_, are_constant_fields_cut_);
  rendered.add(std::span(fields.begin(), fields.size()));
  constant_fields_ = rendered.text();
  are_constant_fields_cut_ = rendered.is_cut();
}

std::uint64_t Logger::dropped_lines() const {
  return sink_->dropped_lines();
}

}  // namespace ratoon
