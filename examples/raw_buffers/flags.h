// The command line flags and the output that raw_buffers and plain_raw_buffers share.
#pragma once

#include <cstdint>

struct Flags {
  std::uint64_t steps = 400;
  std::uint64_t batch = 24;  // samples per step, over all processes
  std::uint64_t seed = 17;
  std::uint64_t validate_every = 10;
  std::uint64_t patience = 5;  // validations without a lower loss, after which the training ends
  std::uint64_t pause_ms = 0;  // simulates a longer step
};

// Ends the program with 82 if a flag is unknown or has no number.
Flags read_flags(int argc, char** argv);

void say_step(const Flags& flags, std::uint64_t step, double loss, std::uint32_t rank = 0,
              std::uint64_t attempt = 1);
