#include "flags.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

Flags read_flags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--over-host") flags.over_host = true;
    if (i + 1 == argc) break;
    const std::uint64_t number = std::strtoull(argv[i + 1], nullptr, 10);
    if (flag == "--steps") flags.steps = number;
    if (flag == "--epochs") flags.epochs = number;
    if (flag == "--batch") flags.batch = number;
    if (flag == "--seed") flags.seed = number;
    if (flag == "--pause-ms") flags.pause_ms = number;
    if (flag == "--threads") flags.threads = static_cast<int>(number);
    if (flag == "--device") flags.device = argv[i + 1];
    if (flag == "--out") flags.out = argv[i + 1];
  }
  return flags;
}

std::uint64_t steps_of(const Flags& flags, std::uint64_t samples, std::uint64_t batch) {
  return flags.epochs > 0 && batch > 0 ? flags.epochs * samples / batch : flags.steps;
}

void say_step(const Flags& flags, std::uint64_t step, double loss, std::uint32_t rank,
              std::uint64_t attempt) {
  std::printf("attempt %llu rank %u step %llu loss %.6f\n", static_cast<unsigned long long>(attempt), rank,
              static_cast<unsigned long long>(step), loss);
  std::fflush(stdout);
  if (flags.pause_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(flags.pause_ms));
}
