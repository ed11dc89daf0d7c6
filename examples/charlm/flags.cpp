#include "flags.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <string_view>
#include <thread>

Flags read_flags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--over-host") flags.over_host = true;
    if (i + 1 == argc) break;
    const std::uint64_t number = std::strtoull(argv[i + 1], nullptr, 10);
    if (flag == "--text") flags.text = argv[i + 1];
    if (flag == "--steps") flags.steps = number;
    if (flag == "--batch") flags.batch = number;
    if (flag == "--seed") flags.seed = number;
    if (flag == "--pause-ms") flags.pause_ms = number;
    if (flag == "--threads") flags.threads = static_cast<int>(number);
    if (flag == "--device") flags.device = argv[i + 1];
    if (flag == "--out") flags.out = argv[i + 1];
  }
  return flags;
}

double learning_rate(std::uint64_t step, std::uint64_t steps) {
  const double highest = 3e-3;
  const auto warm_up = static_cast<double>(steps) / 20;
  const double now = static_cast<double>(step) + 1;
  if (now < warm_up) return highest * now / warm_up;
  const double done = (now - warm_up) / std::max(static_cast<double>(steps) - warm_up, 1.0);
  return highest * (0.55 + 0.45 * std::cos(std::numbers::pi * done));
}

void say_step(const Flags& flags, std::uint64_t step, double loss, std::uint32_t rank,
              std::uint64_t attempt) {
  std::printf("attempt %llu rank %u step %llu loss %.6f\n", static_cast<unsigned long long>(attempt), rank,
              static_cast<unsigned long long>(step), loss);
  std::fflush(stdout);
  if (flags.pause_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(flags.pause_ms));
}
