// The messages of one large job, without any transport: the work while the job's state is locked.
#include <chrono>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "operator/coordinator/job_session.h"
#include "operator/coordinator/parked_polls.h"
#include "tests/support/operator_builders.h"

namespace {

using namespace ratoon;

// The work of one second: a beat of each process, ten checks of parked polls, and one check of the operator's
// loop.
void lock_seconds(benchmark::State& state) {
  constexpr std::uint32_t kEach = 8;  // processes of a member
  const auto processes = static_cast<std::uint32_t>(state.range(0));
  api::Announcement told{.attempt = Attempt(1), .processes_per_node = kEach};
  coordinator::JobSession job_session;
  coordinator::ParkedPolls parked;
  std::vector<Heartbeat> beats;
  for (std::uint32_t i = 0; i < processes; ++i) {
    const auto who = test::process(i / kEach, 0, i % kEach);
    beats.push_back(test::beat(who, 1, 0));
    told.world.push_back(test::seat(who, i));
    if (i % kEach == 0) told.current.push_back(who);
    parked.park_poll({who, coordinator::AwaitedAnswer::kNewOrders, 0, Timestamp{std::chrono::hours(1)},
                      http::Responder(nullptr)});
  }
  job_session.announce(told);
  Timestamp now{std::chrono::seconds(1)};
  for (auto _ : state) {
    now = now + std::chrono::seconds(1);
    for (auto& beat : beats) {
      ++beat.sequence;
      benchmark::DoNotOptimize(job_session.refuse(beat.process));
      benchmark::DoNotOptimize(job_session.record_beat(beat, now));
      benchmark::DoNotOptimize(job_session.orders(beat.process, WallTime{}));
    }
    for (int tick = 0; tick < 10; ++tick)
      parked.answer_due(now, [](const coordinator::ParkedPoll&) { return false; });
    benchmark::DoNotOptimize(job_session.announce(told));
    auto heard = job_session.processes();
    auto world = job_session.announcement().world;
    benchmark::DoNotOptimize(heard.data());
    benchmark::DoNotOptimize(world.data());
  }
}
BENCHMARK(lock_seconds)
    ->Arg(1024)
    ->Arg(4096)
    ->Arg(16384)
    ->ArgName("processes")
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
