// The command line flags and the output that charlm and plain_charlm share.
#pragma once

#include <cstdint>
#include <string>

struct Flags {
  std::string text;  // a file to learn from; empty: generated text
  std::uint64_t steps = 400;
  std::uint64_t batch = 16;  // windows per step, over all processes
  std::uint64_t seed = 17;
  std::uint64_t pause_ms = 0;  // simulates a longer step
  int threads = 1;
  std::string device = "cpu";  // or cuda: the device of the process's local rank
  bool over_host = false;      // for processes that share a device, which NCCL refuses
  std::string out;             // a file for the digest of the weights at the end
};

// If a flag is given twice, the last value is used, so that `ratoon run job.yaml -- --steps 50` overrides the
// file.
Flags read_flags(int argc, char** argv);

// Rises over the first twentieth of the run, then falls along a cosine. The rate depends on the step alone,
// so it need not be saved.
double learning_rate(std::uint64_t step, std::uint64_t steps);

void say_step(const Flags& flags, std::uint64_t step, double loss, std::uint32_t rank = 0,
              std::uint64_t attempt = 1);
