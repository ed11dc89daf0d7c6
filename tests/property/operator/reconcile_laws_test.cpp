// The laws of the core, over thousands of small worlds with faults. A failure names its seed:
//   RATOON_SEED=1234 reconcile_laws_test        repeats it and tells what happened
//   RATOON_SEEDS=100000 reconcile_laws_test     digs deeper, from RATOON_FIRST_SEED on
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "operator/core/reconcile.h"
#include "tests/property/operator/laws.h"

namespace ratoon::sim {
namespace {

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// After the last fault: judgement of the silent (30 s when all are), nodes that the platform gives up,
// Terminating pods, a rerun from the beginning.
constexpr int kCalmTicksMax = 900;

// Of a job that is over, only pods of current members are left, on their way out.
void expect_that_nobody_stays(World& world) {
  world.carry_out(core::reconcile(world.observe(), world.now()), false);
  for (const auto& pod : world.pods()) {
    const auto& members = world.job().status.members;
    const bool is_current = std::any_of(members.begin(), members.end(), [&](const auto& m) {
      return m.index == pod.index && (m.incarnation == pod.incarnation || m.successor == pod.incarnation);
    });
    EXPECT_TRUE(is_current || pod.is_deleting || pod.has_ended()) << pod.name << " stays behind\n"
                                                                  << world.describe();
  }
}

void live_through(std::uint64_t seed, bool is_told, Tally& tally) {
  Dice dice(seed);
  const Scenario scenario = draw_scenario(dice);
  World world(seed, scenario);
  Laws laws(world, tally);
  int calm_ticks = 0;
  for (int tick = 0; calm_ticks < kCalmTicksMax; ++tick) {
    const bool is_chaos = tick < scenario.chaos_ticks;
    if (!is_chaos) ++calm_ticks;
    world.advance(is_chaos);
    // The operator is gone, or busy with something else.
    if (world.is_operator_down() || (is_chaos && world.dice().percent(20))) continue;
    const api::TrainingJobStatus before = world.job().status;
    const core::Decision decision = laws.decide();
    world.carry_out(decision, is_chaos);
    laws.note_stored(decision, before);
    laws.check_agents();
    if (is_told) {
      for (const auto& action : decision.actions)
        if (const auto* event = std::get_if<core::EmitEvent>(&action)) std::cerr << event->message << "\n";
      std::cerr << world.describe();
    }
    if (testing::Test::HasFailure()) return;
    if (is_final(world.job().status) && !is_chaos) break;
  }
  EXPECT_TRUE(is_final(world.job().status)) << "not over after " << kCalmTicksMax << " ticks without faults\n"
                                            << world.describe();
  expect_that_nobody_stays(world);
}

TEST(ReconcileLaws, HoldInEveryWorldWithFaults) {
  Tally tally;
  if (const auto seed = number_from_environment("RATOON_SEED", 0); seed != 0)
    return live_through(seed, true, tally);
  const std::uint64_t seeds = number_from_environment("RATOON_SEEDS", 2000);
  const std::uint64_t first = number_from_environment("RATOON_FIRST_SEED", 1);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE("RATOON_SEED=" + std::to_string(seed));
    live_through(seed, false, tally);
    if (HasFailure()) return;
  }
  EXPECT_GE(tally.smaller_worlds, seeds / 100) << "few jobs ever shrank: look at draw_scenario()";
  EXPECT_GE(tally.hangs, seeds / 100) << "few hangs were ever found: look at trouble_for()";
  EXPECT_GE(tally.growths, seeds / 200) << "few jobs ever grew again";
}

// Worlds in which a law was broken once.
TEST(ReconcileLaws, HoldInWorldsThatBrokeThem) {
  Tally tally;
  // 50685: those who wait began to before the checkpoint was committed, and who committed it is gone.
  for (const std::uint64_t seed : {50685U}) {
    SCOPED_TRACE("RATOON_SEED=" + std::to_string(seed));
    live_through(seed, false, tally);
  }
}

}  // namespace
}  // namespace ratoon::sim
