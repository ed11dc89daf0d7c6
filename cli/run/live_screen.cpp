#include "cli/run/live_screen.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/run/run_view.h"
#include "cli/run/terminal.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

constexpr Duration kRedrawInterval = std::chrono::milliseconds(250);

}  // namespace

LiveScreen::LiveScreen(int fd, const Clock& clock)
    : fd_(fd), clock_(clock), is_terminal_(::isatty(fd) == 1), unwritten_lines_(fd) {}

void LiveScreen::write(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(fd_, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) return;  // it is no longer read: the run continues
    done += static_cast<std::size_t>(std::max<ssize_t>(written, 0));
  }
}

// Returns the escape codes that erase the old picture. Returns an empty text if the terminal became narrower
// and so wrapped the printed lines; the old picture then stays above the new one.
std::string LiveScreen::erase_picture() {
  if (picture_lines_ == 0 || terminal_size(fd_).columns < picture_columns_) return "";
  return "\x1b[" + std::to_string(picture_lines_) + "F" + kClearBelow;
}

void LiveScreen::print(const std::string& line) {
  unwritten_lines_.add(line_of(line, 0));  // it may contain text of a trainer
  write_without_blocking();
}

void LiveScreen::write_all() {
  unwritten_lines_.add_dropped_lines_notice();
  if (is_terminal_)
    write_kept_lines();
  else
    unwritten_lines_.write_all(/*pause_max_ms=*/-1);
}

void LiveScreen::write_without_blocking() {
  if (!is_terminal_)
    unwritten_lines_.write_without_blocking();
  else if (unwritten_lines_.is_writable())
    write_kept_lines();
}

void LiveScreen::write_kept_lines() {
  const std::string kept = unwritten_lines_.take();
  if (!kept.empty()) write(erase_picture() + kept + picture_);
}

void LiveScreen::show(const nlohmann::json& document) {
  if (!is_terminal_) {
    write_without_blocking();
    return;
  }
  const Timestamp now = clock_.now();
  newest_document_ = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (drawn_at_ && now - *drawn_at_ < kRedrawInterval) return;
  if (!unwritten_lines_.is_writable()) return;
  drawn_at_ = now;
  write_kept_lines();
  draw(document, true);
}

void LiveScreen::draw(const nlohmann::json& document, bool is_running) {
  auto view = decode_run_view(document);
  if (!view) return;  // a document that cannot be shown must not end a run
  view->is_running = is_running;
  const TerminalSize size = terminal_size(fd_);
  // The picture of the run leaves one row of the terminal for event lines, and one row for the cursor.
  const std::size_t rows = size.rows > 4 ? size.rows - 2 : 2;
  const auto lines = render_run(*view, clock_.wall_now(), size.columns, rows);
  std::string picture;
  for (const auto& line : lines) picture += line + "\n";
  if (picture == picture_ && size.columns == picture_columns_) return;
  write(erase_picture() + picture);
  picture_ = std::move(picture);
  picture_lines_ = lines.size();
  picture_columns_ = size.columns;
}

void LiveScreen::finish() {
  write_all();
  if (newest_document_.empty()) return;
  const auto document = nlohmann::json::parse(newest_document_, nullptr, false);
  draw(document, false);
}

}  // namespace ratoon::cli
