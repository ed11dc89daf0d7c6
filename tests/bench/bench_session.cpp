// What a session costs a step with saving off, and what a scrape costs: goals are 10 us and 5 ms.
#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include <ratoon/failure.h>
#include <ratoon/train.h>

#include "agent/src/metrics/exposition.h"
#include "tests/support/temporary_folder.h"

namespace {

// The loop alone: of one rank, files only, with the bar on no terminal, history, ledger and metrics.
void step(benchmark::State& state) {
  const ratoon::test::TemporaryFolder folder;
  const auto reports = state.range(0);
  const ratoon::Options options{.save_folder = folder.path().string(),
                                .run_name = "bench",
                                .save_every = ratoon::Every::steps(1ULL << 40),
                                .keep_last = 2,
                                .member = {}};
  const int code = ratoon::train(options, [&](ratoon::Session& session) {
    std::uint64_t sum = 0;
    session.track("sum", sum);
    auto steps = session.steps(1ULL << 40);
    auto it = steps.begin();
    for (auto _ : state) {
      for (std::int64_t i = 0; i < reports; ++i) session.report(i == 0 ? "loss" : "accuracy", 0.5, 32);
      ++it;
    }
    throw ratoon::Failure(0, "measured");
  });
  if (code != 0) state.SkipWithError("the run failed");
}
BENCHMARK(step)->Arg(0)->Arg(1)->Arg(2)->ArgName("reports")->MinTime(1.0);

void scrape(benchmark::State& state) {
  ratoon::metrics::Meters meters;
  for (int i = 0; i < 40; ++i) meters.values.set("value" + std::to_string(i), i);
  for (int i = 0; i < 4; ++i) meters.stores.emplace_back("s3://bucket/runs/" + std::to_string(i));
  ratoon::MemberOptions member;
  member.job_namespace = "default";
  member.job_name = "digits";
  member.role = "worker";
  const ratoon::SystemClock clock;
  for (auto _ : state) benchmark::DoNotOptimize(ratoon::metrics::expose(meters, member, clock.now()));
}
BENCHMARK(scrape)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
