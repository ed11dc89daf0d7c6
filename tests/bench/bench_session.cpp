// The cost of a session for a step without saving, and of a scrape: goals are 10 us and 5 ms. The cost of a
// save each 10 steps, at 0.8 of the disk's speed: the goal is 3 % of a step.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <ratoon/atomic_file.h>
#include <ratoon/failure.h>
#include <ratoon/train.h>

#include "agent/src/metrics/exposition.h"
#include "tests/support/temporary_folder.h"

struct Weights {
  std::vector<float> values;
};

template <>
struct ratoon::TrackAdapter<Weights> {
  static void check(Weights&, const std::string&) {}
  static void save(Weights& weights, StateWriter& out) {
    out.tensor({.name = "values",
                .type = ElementType::kFloat32,
                .shape = {weights.values.size()},
                .bytes = std::as_bytes(std::span(weights.values))});
  }
  static void load(Weights&, StateReader&) {}
};

namespace {

using SteadyClock = std::chrono::steady_clock;

// A measured run ends with this error: the run is not complete, and ending with 0 before its last step is
// refused.
constexpr int kMeasured = 7;

double seconds_since(SteadyClock::time_point began) {
  return std::chrono::duration<double>(SteadyClock::now() - began).count();
}

double median(std::vector<double> of) {
  std::ranges::nth_element(of, of.begin() + std::ssize(of) / 2);
  return of[of.size() / 2];
}

// The loop alone: one rank, files only, with the bar on no terminal, history, ledger and metrics. A rank that
// agrees does so once a step, as ranks that average gradients do, and makes no request.
void run_steps(benchmark::State& state, std::int64_t reports, bool agrees) {
  const ratoon::test::TemporaryFolder folder;
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
      if (agrees) session.agree(session.requests());
      ++it;
    }
    throw ratoon::Failure(kMeasured, "measured");
  });
  if (code != kMeasured) state.SkipWithError("the run failed");
}

void step(benchmark::State& state) {
  run_steps(state, state.range(0), false);
}
void step_that_agrees(benchmark::State& state) {
  run_steps(state, 0, true);
}

// The same amount of work each time, in registers, so that the time of a saver's threads becomes visible.
void work(std::uint64_t rounds) {
  std::uint64_t x = rounds;
  for (std::uint64_t i = 0; i < rounds; ++i) benchmark::DoNotOptimize(x = x * 6364136223846793005U + 1);
}

// Seconds a step, over `steps` of them.
double train(const std::string& folder, ratoon::Every save_every, std::uint64_t steps, std::uint64_t rounds,
             Weights& weights) {
  double seconds = 0;
  const ratoon::Options options{
      .save_folder = folder, .run_name = "bench", .save_every = save_every, .keep_last = 2, .member = {}};
  const int code = ratoon::train(options, [&](ratoon::Session& session) {
    session.track("weights", weights);
    const std::uint64_t first = session.steps_done();
    const auto range = session.steps(1ULL << 40);
    const auto began = SteadyClock::now();
    for (auto step = range.begin(); session.steps_done() - first < steps; ++step) {
      work(rounds);
      weights.values[0] += 1;
    }
    seconds = seconds_since(began) / static_cast<double>(steps);
    throw ratoon::Failure(kMeasured, "measured");
  });
  return code == kMeasured ? seconds : 0;
}

void save_each_10_steps(benchmark::State& state) {
  constexpr std::uint64_t kSteps = 40;
  constexpr int kTurns = 5;
  Weights weights{std::vector<float>(static_cast<std::size_t>(state.range(0)) << 18, 1.0F)};
  const auto bytes = std::as_bytes(std::span(weights.values));
  for (auto _ : state) {
    const ratoon::test::TemporaryFolder folder;
    std::vector<double> writes, with, without;
    for (int turn = 0; turn < kTurns; ++turn) {
      const auto began = SteadyClock::now();
      if (!ratoon::save_file_atomically(folder / "file", bytes))
        return state.SkipWithError("nothing is written");
      writes.push_back(seconds_since(began));
    }
    const double step_seconds = median(writes) / (10 * 0.8);
    constexpr std::uint64_t kProbe = 10'000'000;
    const auto began = SteadyClock::now();
    work(kProbe);
    const auto rounds = static_cast<std::uint64_t>(kProbe * step_seconds / seconds_since(began));
    for (int turn = 0; turn < kTurns; ++turn) {
      const auto run = [&](const char* name, ratoon::Every every) {
        return train((folder / (name + std::to_string(turn))).string(), every, kSteps, rounds, weights);
      };
      without.push_back(run("without", ratoon::Every::steps(1ULL << 40)));
      with.push_back(run("with", ratoon::Every::steps(10)));
    }
    state.SetIterationTime(median(with));
    state.counters["without_seconds"] = median(without);
    state.counters["limit_seconds"] = median(without) * 1.03;
    state.counters["disk_bytes_per_second"] = static_cast<double>(bytes.size()) / median(writes);
  }
}
BENCHMARK(save_each_10_steps)
    ->Arg(16)
    ->Arg(128)
    ->ArgName("mib")
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

BENCHMARK(step)->Arg(0)->Arg(1)->Arg(2)->ArgName("reports")->MinTime(1.0);
BENCHMARK(step_that_agrees)->MinTime(1.0);

void scrape(benchmark::State& state) {
  ratoon::metrics::Meters meters;
  for (int i = 0; i < 40; ++i) meters.values.set("value" + std::to_string(i), i);
  for (int i = 0; i < 4; ++i) meters.stores.emplace_back("s3://bucket/runs/" + std::to_string(i));
  ratoon::MemberOptions member;
  member.job_namespace = "default";
  member.job_name = "digits";
  member.role = "worker";
  const ratoon::SystemClock clock;
  for (auto _ : state) benchmark::DoNotOptimize(ratoon::metrics::format_metrics(meters, member, clock.now()));
}
BENCHMARK(scrape)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
