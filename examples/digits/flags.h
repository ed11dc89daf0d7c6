// What both trainers, digits and plain_digits, take from their command line and print.
#pragma once

#include <cstdint>
#include <string>

struct Flags {
  std::uint64_t steps = 400;
  std::uint64_t epochs = 0;  // above 0: instead of steps
  std::uint64_t batch = 96;  // of all processes together
  std::uint64_t seed = 17;
  std::uint64_t pause_ms = 0;  // stands for a longer step
  int threads = 1;
  std::string device = "cpu";  // or cuda: the one of the process's local rank
  bool over_host = false;      // processes share a device, which NCCL refuses
  std::string out;             // a file for the digest of the weights at the end
};

// The last one counts, so that `ratoon run job.yaml -- --steps 50` overrides what the file says.
Flags read_flags(int argc, char** argv);

// In batches of this size, which a job may say in place of the flag.
std::uint64_t steps_of(const Flags& flags, std::uint64_t samples, std::uint64_t batch);

void say_step(const Flags& flags, std::uint64_t step, double loss, std::uint32_t rank = 0,
              std::uint64_t attempt = 1);
