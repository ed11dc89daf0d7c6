#include <algorithm>
#include <cerrno>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include <ratoon/progress_bar.h>

#include "agent/src/progress/render.h"
#include "base/core/clock.h"

namespace ratoon {
namespace {

constexpr std::size_t kUsualColumns = 80;
constexpr std::string_view kCarriageReturn = "\r";
constexpr std::string_view kEraseToLineEnd = "\x1b[K";

std::string printable(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return text;
}

std::size_t columns_of(int fd) {
  winsize size{};
  const bool is_known = ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : kUsualColumns;
}

// If the terminal is slow or closed, this update of the bar is dropped, and the next update replaces it.
void write_or_drop(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

class ProgressBar::Printer {
 public:
  explicit Printer(ProgressBarOptions options)
      : fd_(options.fd),
        is_terminal_(options.is_terminal.value_or(::isatty(options.fd) == 1)),
        glyphs_(options.is_ascii ? progress::Glyphs::kAscii : progress::Glyphs::kUtf8),
        state_{.title = printable(std::move(options.title)),
               .unit = printable(std::move(options.unit)),
               .total = options.total} {
    resume_at(options.begin_at);
  }

  void update(std::uint64_t position) {
    state_.position = position;
    if (is_finished_) return;
    const Timestamp now = clock_.now();
    if (now < next_) return;
    draw(now);
    pause_ = progress::next_pause(is_terminal_, pause_);
    next_ = now + pause_;
  }

  void resume_at(std::uint64_t position) {
    state_.begin_at = state_.position = position;
    began_ = clock_.now();
    next_ = began_;
    pause_ = Duration(0);
  }

  void finish() {
    if (is_finished_) return;
    draw(clock_.now());
    if (is_terminal_) write_or_drop(fd_, "\n");
    is_finished_ = true;
  }

  void clear() {
    if (!is_terminal_ || is_finished_) return;
    write_or_drop(fd_, std::string(kCarriageReturn) + std::string(kEraseToLineEnd));
    next_ = Timestamp{};
  }

  progress::BarState& state() { return state_; }

 private:
  void draw(Timestamp now) {
    state_.elapsed = now - began_;
    if (!is_terminal_) return write_or_drop(fd_, progress::render_line(state_) + "\n");
    // Replacing the old text with a single write avoids flicker. The last column of the terminal stays empty,
    // because some terminals wrap a line that fills it.
    const std::size_t columns = columns_of(fd_) - 1;
    write_or_drop(fd_, std::string(kCarriageReturn) + progress::render_bar(state_, columns, glyphs_) +
                           std::string(kEraseToLineEnd));
  }

  const SystemClock clock_;
  const int fd_;
  const bool is_terminal_;
  const progress::Glyphs glyphs_;
  progress::BarState state_;
  Timestamp began_;
  Timestamp next_;  // nothing is drawn before this time
  Duration pause_{0};
  bool is_finished_ = false;
};

ProgressBar::ProgressBar(ProgressBarOptions options)
    : printer_(std::make_unique<Printer>(std::move(options))) {}
ProgressBar::~ProgressBar() {
  finish();
}
void ProgressBar::update(std::uint64_t position) {
  printer_->update(position);
}
void ProgressBar::show_loss(double loss) {
  printer_->state().loss = loss;
}
void ProgressBar::show_durable(std::uint64_t position) {
  printer_->state().durable = position;
}
void ProgressBar::resume_at(std::uint64_t position) {
  printer_->resume_at(position);
}
void ProgressBar::clear() {
  printer_->clear();
}
void ProgressBar::finish() {
  printer_->finish();
}

}  // namespace ratoon
