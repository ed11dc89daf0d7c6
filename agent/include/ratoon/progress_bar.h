// ProgressBar: the progress of a run, as a bar on a terminal, otherwise as plain lines at growing intervals.
// For a run that resumed, the bar begins at the position of the resume. The rate and the remaining time are
// computed from the steps since the resume.
//
//   ratoon::ProgressBar bar({.title = "digits", .total = 90'000, .begin_at = resumed_at});
//   for (std::uint64_t step = resumed_at; step < 90'000; ++step) {
//     bar.show_loss(train(step));
//     bar.update(step + 1);               // tens of nanoseconds; draws ten times a second at most
//   }
//   bar.finish();
//
// Thread contract: one thread at a time. Write errors are ignored: a bar never ends a run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace ratoon {

struct ProgressBarOptions {
  std::string title{};                // ASCII; characters that a terminal could take for a command become '?'
  std::string unit = "step";          // the unit of the position, in the singular
  std::uint64_t total = 0;            // 0: not known
  std::uint64_t begin_at = 0;         // the position at which this run resumes
  int fd = 2;                         // not owned
  std::optional<bool> is_terminal{};  // default: whether the descriptor is a terminal
  bool is_ascii = false;              // for terminals without UTF-8
};

class ProgressBar {
 public:
  explicit ProgressBar(ProgressBarOptions options);
  ~ProgressBar();  // finishes
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(std::uint64_t position);
  void show_loss(double loss);
  // Shows the position of the newest checkpoint that would survive the loss of this machine.
  void show_durable(std::uint64_t position);
  // Moves the bar to another position, after a lost process or a rollback. The rate and the remaining time
  // are computed from the steps after `position`.
  void resume_at(std::uint64_t position);
  // Removes the bar from the terminal so that other output can be printed; the next update() draws it again.
  void clear();
  // Draws the last position and ends the line of the progress bar. A second call of finish() does nothing.
  void finish();

 private:
  class Printer;
  std::unique_ptr<Printer> printer_;
};

}  // namespace ratoon
