// examples/counter, whose steps wait for the gate of a test.
//
//   TEST_STEP_GATE=file gated_counter [--steps N] [--pause-ms N] and the options of a session
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <ratoon/train.h>

#include "tests/integration/gate.h"

namespace {

// The last value of a flag counts.
std::uint64_t read_flag(int argc, char** argv, std::string_view flag, std::uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == flag) otherwise = std::strtoull(argv[i + 1], nullptr, 10);
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t steps = read_flag(argc, argv, "--steps", 200);
  const std::chrono::milliseconds pause(read_flag(argc, argv, "--pause-ms", 10));

  return ratoon::train(ratoon::Options::from_environment(argc, argv), [&](ratoon::Session& session) {
    ratoon::test::Gate gate;
    std::uint64_t sum = 0;
    session.track("sum", sum);
    for (const std::uint64_t step : session.steps(steps)) {
      if (step % 10 == 0) {
        std::printf("attempt %" PRIu64 " rank %u step %" PRIu64 " sum %" PRIu64 "\n", session.attempt(),
                    session.rank(), step, sum);
        std::fflush(stdout);
      }
      gate.wait_for(step, session);
      std::this_thread::sleep_for(pause);
      sum += step;
      session.report("sum", static_cast<double>(sum));
    }
    std::printf("done: %" PRIu64 " steps, sum %" PRIu64 "\n", steps, sum);
  });
}
