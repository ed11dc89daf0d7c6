// Amount: so much of a training, in steps, batches, epochs, samples or time, as options write it.
//
//   auto amount = ratoon::parse_amount("0.25ep");
//   if (!amount) std::cerr << amount.error().message() << '\n';
//   std::cout << ratoon::text_of(*amount);                      // 0.25ep
//
//   500st  optimizer steps         90ep, 0.25ep  epochs of the stream     45s, 10m, 2h, 1d, 1h30m  time in
//   the 500ba  batches                 1000sp        samples training loop
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
  Period period{};  // in units; of kTime, in nanoseconds

  friend bool operator==(const Amount& a, const Amount& b) {
    return a.unit == b.unit && a.period.count == b.period.count && a.period.parts == b.period.parts;
  }
};

// Where a run stands, counted from its beginning. All of it is in the checkpoint: a resumed run says the same
// at the same step as one that was never interrupted.
struct RunPosition {
  std::uint64_t steps = 0;              // optimizer steps
  std::uint64_t batches = 0;            // more than steps where gradients are accumulated
  std::uint64_t samples = 0;            // slots of the stream before its cursor
  std::uint64_t epoch_samples = 0;      // samples of one epoch of the stream; 0: it has no epochs
  std::chrono::nanoseconds trained{0};  // in the training loop, of all attempts that are in the weights
};

// A number above 0 and its unit, without spaces; only epochs and time may have a fraction, of up to six
// places. A number without a unit is refused: elsewhere it means epochs, or batches.
[[nodiscard]] Result<Amount> parse_amount(std::string_view text);

// The shortest text that parse_amount() reads as the same; of thirds of an epoch and the like, "1/3ep".
[[nodiscard]] std::string text_of(const Amount& amount);

// What is counted for amounts of this unit: of epochs, samples. Exact, where a fraction of an epoch is not.
[[nodiscard]] std::uint64_t count_of(const RunPosition& position, CountedIn unit);

// The amount in such counts. Throws std::invalid_argument for epochs of a stream that has none.
[[nodiscard]] Period counts_in(const Amount& amount, const RunPosition& position);

}  // namespace ratoon
