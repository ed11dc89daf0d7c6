// How long streams of the test accelerator wait before each piece of work.
#pragma once

#include <chrono>
#include <cstdint>

namespace ratoon::test::accelerator {

struct Lag {
  std::uint64_t seed = 1;                  // or RATOON_TEST_ACCELERATOR_SEED
  std::chrono::microseconds longest{300};  // or RATOON_TEST_ACCELERATOR_LAG_MICROSECONDS
  std::uint64_t version = 0;               // grows with each set_lag()
};

[[nodiscard]] Lag lag();

// From the next piece of work on, each stream draws its lags anew: from the seed and its own id.
void set_lag(std::uint64_t seed, std::chrono::microseconds longest = std::chrono::microseconds(300));

// `draw` is uniform between 0 and 1. Most pieces of work start at once, some late, a few very late.
[[nodiscard]] std::chrono::microseconds lag_of(double draw, std::chrono::microseconds longest);

}  // namespace ratoon::test::accelerator
