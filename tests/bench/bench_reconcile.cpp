// The cost of one decision about a large job: all its members train, with eight processes each, and no action
// is due.
#include <cstdint>
#include <utility>

#include <benchmark/benchmark.h>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace {

using namespace ratoon;

core::Observation training(std::uint32_t members) {
  constexpr std::uint32_t kEach = 8;  // processes of a member
  auto seen = test::running(test::job(members));
  seen.job.spec.processes_per_node = kEach;
  seen.job.status.world_size = members * kEach;
  seen.processes.clear();
  seen.world.clear();
  for (std::uint32_t rank = 0; rank < members * kEach; ++rank) {
    const auto who = test::process(rank / kEach, 0, rank % kEach);
    auto facts = test::heard(who);
    facts.beat = test::beat(who, 1, 7);
    facts.has_been_in_world = true;
    seen.processes.push_back(std::move(facts));
    seen.world.push_back(test::seat(who, rank, 1, members * kEach));
  }
  return seen;
}

// `saves`: the job is suspended, and the decision waits until all members have saved.
void look_at(benchmark::State& state, bool saves) {
  auto seen = training(static_cast<std::uint32_t>(state.range(0)));
  seen.job.spec.is_suspended = saves;
  if (saves) seen.job.status.suspending_since = seen.wall_now;
  for (auto _ : state) {
    const auto decision = core::reconcile(seen, test::at_seconds(1));
    if (!decision.status.is_world_formed) state.SkipWithError("the world that stands was given up");
  }
}

void look(benchmark::State& state) {
  look_at(state, false);
}
void look_while_it_saves(benchmark::State& state) {
  look_at(state, true);
}
BENCHMARK(look)->Arg(64)->Arg(512)->Arg(2048)->ArgName("members")->Unit(benchmark::kMillisecond);
BENCHMARK(look_while_it_saves)
    ->Arg(64)
    ->Arg(512)
    ->Arg(2048)
    ->ArgName("members")
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
