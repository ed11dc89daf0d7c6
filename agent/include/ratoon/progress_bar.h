// ProgressBar: how far a run is, on a terminal as a bar, elsewhere as plain lines that come ever more seldom.
// A run that resumed in the middle begins in the middle: rate and time left follow from what was done since.
//
//   ratoon::ProgressBar bar({.title = "digits", .total = 90'000, .begin_at = resumed_at});
//   for (std::uint64_t step = resumed_at; step < 90'000; ++step) {
//     bar.show_loss(train(step));
//     bar.update(step + 1);               // tens of nanoseconds; draws ten times a second at most
//   }
//   bar.finish();
//
// Thread contract: one thread at a time. What cannot be written is left out: a bar never ends a run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace ratoon {

struct ProgressBarOptions {
  std::string title{};                // ASCII; what a terminal could take for a command becomes '?'
  std::string unit = "step";          // of the position, as one says it of one
  std::uint64_t total = 0;            // 0: not known
  std::uint64_t begin_at = 0;         // the position from which this run goes on
  int fd = 2;                         // not owned
  std::optional<bool> is_terminal{};  // default: whether the descriptor is one
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
  // The newest position that would survive the loss of this machine.
  void show_durable(std::uint64_t position);
  // Goes on from another position, after a loss or a rollback: rate and time count from now.
  void resume_at(std::uint64_t position);
  // Takes the bar off the terminal, so that something else can be printed; the next update brings it back.
  void clear();
  // Draws the last state and ends the line. More calls do nothing.
  void finish();

 private:
  class Pen;
  std::unique_ptr<Pen> pen_;
};

}  // namespace ratoon
