// The smallest trainer: it counts steps and sums them up. Kill it at any time; the sum at the end is the
// same.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <ratoon/train.h>

namespace {

// If a flag is given twice, the last value is used, so that `ratoon run job.yaml -- --steps 50` overrides the
// file.
std::uint64_t read_flag(int argc, char** argv, std::string_view flag, std::uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == flag) otherwise = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t steps = read_flag(argc, argv, "--steps", 200);
  const std::chrono::milliseconds pause(read_flag(argc, argv, "--pause-ms", 20));

  return ratoon::train(ratoon::Options::from_environment(argc, argv), [&](ratoon::Session& session) {
    std::uint64_t sum = 0;
    session.track("sum", sum);
    for (const std::uint64_t step : session.steps(steps)) {
      if (session.steps_done() == 0 || step % 10 == 0) {
        std::printf("attempt %llu rank %u step %llu sum %llu\n",
                    static_cast<unsigned long long>(session.attempt()), session.rank(),
                    static_cast<unsigned long long>(step), static_cast<unsigned long long>(sum));
        std::fflush(stdout);
      }
      std::this_thread::sleep_for(pause);
      sum += step;
      session.report("sum", static_cast<double>(sum));
    }
    std::printf("done: %llu steps, sum %llu\n", static_cast<unsigned long long>(steps),
                static_cast<unsigned long long>(sum));
  });
}
