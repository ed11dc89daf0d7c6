// What both trainers, charlm and plain_charlm, take from their command line and print.
#pragma once

#include <cstdint>
#include <string>

struct Flags {
  std::string text;  // a file to learn from; none: text that is made
  std::uint64_t steps = 400;
  std::uint64_t batch = 16;  // windows, of all processes together
  std::uint64_t seed = 17;
  std::uint64_t pause_ms = 0;  // stands for a longer step
  int threads = 1;
  std::string device = "cpu";  // or cuda: the one of the process's local rank
  bool over_host = false;      // processes share a device, which NCCL refuses
  std::string out;             // a file for the digest of the weights at the end
};

// The last one counts, so that `ratoon run job.yaml -- --steps 50` overrides what the file says.
Flags read_flags(int argc, char** argv);

// Up over the first twentieth of the run, then down along a cosine: it follows from the step alone, so there
// is nothing to save.
double learning_rate(std::uint64_t step, std::uint64_t steps);

void say_step(const Flags& flags, std::uint64_t step, double loss, std::uint32_t rank = 0,
              std::uint64_t attempt = 1);
