// Ranks that add up numbers in steps, at the end of each epoch and before the loop, that stop early, and that
// keep the best checkpoints.
//
//   sums_probe STEPS --save-folder ... --run-name ...
// Each rank prints "rank R step S sum X mean Y" in hexadecimal digits, so that bits are compared.
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <ratoon/session/early_stopping.h>
#include <ratoon/train.h>

#include "tests/integration/gate.h"

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  const std::uint64_t steps = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20;
  const char* const wrong = std::getenv("TEST_WRONG");
  return ratoon::train(ratoon::Options::from_environment(argc, argv), [&](ratoon::Session& session) {
    ratoon::EarlyStopping patience({.patience = 4});
    double total = 0;
    session.track("patience", patience);
    session.track("total", total);
    const double ranks = session.sum(1);
    std::printf("attempt %" PRIu64 " ranks %g\n", session.attempt(), ranks);
    ratoon::test::Gate gate;
    for (const std::uint64_t step : session.steps(steps)) {
      gate.wait_for(step, session);
      // Samples of the step are divided among the ranks: their sum is the same in any world.
      std::array<double, 2> here{};
      for (std::uint64_t sample = session.rank(); sample < 12; sample += session.world_size()) {
        here[0] += static_cast<double>((step * 12 + sample) % 97);
        here[1] += 1;
      }
      if (wrong != nullptr && session.rank() == 1) {
        if (std::string(wrong) == "order") static_cast<void>(session.mean("other", 1, 1));
        if (std::string(wrong) == "count") static_cast<void>(session.sum(1.0));
        if (std::string(wrong) == "type") static_cast<void>(session.sum(1));
      }
      std::array<double, 2> all = here;
      session.sum(all);
      // 2^53 + 1, which no double holds.
      const std::int64_t exact =
          session.sum(session.rank() == 0 ? (std::int64_t{1} << 53) + 1 : std::int64_t{0});
      const double mean = session.mean("loss", here[0] / here[1], static_cast<std::uint64_t>(here[1]));
      total += all[0];
      // As a validation would find them: rank 0 alone knows the value.
      const auto found = static_cast<double>((step * 7 + 3) % 11);
      session.save_best("error", session.rank() == 0 ? found : -1, {.keep = 2});
      if (step % 4 == 2) session.save_best("hits", found, {.is_lower_better = false});
      std::printf("rank %u step %" PRIu64 " sum %a of %a mean %a total %a exact %" PRId64 "\n",
                  session.rank(), step, all[0], all[1], mean, total, exact);
      if (patience.is_over(step < 9 ? -static_cast<double>(step) : 0)) session.finish("no better");
      session.report("own", session.rank());
      session.agree();
    }
    std::printf("rank %u ends at step %" PRIu64 "\n", session.rank(), session.steps_done());
  });
}
