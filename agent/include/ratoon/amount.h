// Amount: a duration of a training run in steps, batches, epochs, samples or time, such as "5ep" in options.
//
//   auto amount = ratoon::parse_amount("0.25ep");
//   if (!amount) std::cerr << amount.error().message() << '\n';
//   std::cout << ratoon::text_of(*amount);                      // 0.25ep
//
//   500st          optimizer steps
//   500ba          batches
//   90ep, 0.25ep   epochs of the stream
//   1000sp         samples
//   45s, 10m, 2h, 1d, 1h30m   time in the training loop
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/result.h>
#include <ratoon/schedule.h>

namespace ratoon {

enum class CountedIn { kSteps, kBatches, kEpochs, kSamples, kTime };

struct Amount {
  CountedIn unit = CountedIn::kSteps;
  Period period{};  // in units; for kTime, in nanoseconds

  friend bool operator==(const Amount& a, const Amount& b) {
    return a.unit == b.unit && a.period.count == b.period.count && a.period.parts == b.period.parts;
  }
};

// The position of a run, counted from the run's beginning. Checkpoints contain the whole position, so a
// resumed run reports the same position at a step as an uninterrupted run.
struct RunPosition {
  std::uint64_t steps = 0;          // optimizer steps
  std::uint64_t batches = 0;        // more than steps where gradients are accumulated
  std::uint64_t samples = 0;        // slots of the stream before its cursor
  std::uint64_t epoch_samples = 0;  // samples of one epoch of the stream; 0: the stream has no epochs
  // The time in the training loop for the first `steps` steps of the run, summed over all starts of the run.
  // The time of lost steps does not count.
  std::chrono::nanoseconds trained{0};
};

// Reads an amount: a number above 0 and its unit, without spaces. Only epochs and times may have a fraction,
// with at most six decimal places. A number without a unit is refused, because a reader could take the number
// for epochs or for batches.
[[nodiscard]] Result<Amount> parse_amount(std::string_view text);

// Returns the shortest text that parse_amount() reads as the same amount. An epoch fraction that needs more
// than six decimal places, such as a third, is written as "1/3ep", which parse_amount() does not read.
[[nodiscard]] std::string text_of(const Amount& amount);

// Returns the run's position as a number of `unit`s. For epochs, count_of() returns a number of samples,
// because a whole number of epochs would not contain the position within the epoch.
[[nodiscard]] std::uint64_t count_of(const RunPosition& position, CountedIn unit);

// Converts the amount to the unit of count_of(): an amount in epochs becomes a number of samples. Throws
// std::invalid_argument if the amount is in epochs and the data stream has no epochs.
[[nodiscard]] Period counts_in(const Amount& amount, const RunPosition& position);

}  // namespace ratoon
