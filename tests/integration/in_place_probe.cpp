// examples/counter with a session in place: its loop stays in main().
//
//   TEST_STEP_GATE=file in_place_probe [--steps N] [--pause-ms N] --save-folder ... --run-name ...
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <ratoon/session.h>

#include "tests/integration/gate.h"

namespace {

std::uint64_t read_flag(int argc, char** argv, std::string_view flag, std::uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == flag) otherwise = std::strtoull(argv[i + 1], nullptr, 10);
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t steps = read_flag(argc, argv, "--steps", 200);
  const std::chrono::milliseconds pause(read_flag(argc, argv, "--pause-ms", 20));
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);

  ratoon::Session session(ratoon::Options::from_environment(argc, argv));
  std::uint64_t step = 0;
  std::uint64_t sum = 0;
  session.track("step", step);
  session.track("sum", sum);
  session.resume();
  std::printf("attempt %" PRIu64 " rank %u step %" PRIu64 " sum %" PRIu64 "\n", session.attempt(),
              session.rank(), step, sum);
  for (ratoon::test::Gate gate; step < steps; session.step_done()) {
    gate.wait_for(step, session);
    std::this_thread::sleep_for(pause);
    sum += step++;
  }
  std::printf("done: %" PRIu64 " steps, sum %" PRIu64 "\n", step, sum);
  return session.complete();
}
