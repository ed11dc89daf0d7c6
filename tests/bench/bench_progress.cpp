// The cost of an update of the progress bar and of running metrics for a step. The goal for a bar is below 1
// us.
#include <cstdint>

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <ratoon/metrics.h>
#include <ratoon/progress_bar.h>

#include "agent/src/progress/render.h"

namespace {

// The cost with drawing, ten times a second, to a descriptor that accepts every write.
void update_bar(benchmark::State& state) {
  const int fd = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ratoon::ProgressBar bar(
      {.title = "bench", .total = 1ULL << 40, .fd = fd, .is_terminal = state.range(0) != 0});
  std::uint64_t position = 0;
  for (auto _ : state) {
    bar.show_loss(0.5);
    bar.update(++position);
  }
  ::close(fd);
}
BENCHMARK(update_bar)->Arg(0)->Arg(1)->ArgName("terminal");

void render_bar(benchmark::State& state) {
  const ratoon::progress::BarState bar{.title = "bench",
                                       .total = 1'000'000,
                                       .position = 123'456,
                                       .elapsed = std::chrono::seconds(77),
                                       .loss = 0.5,
                                       .durable = 120'000};
  for (auto _ : state)
    benchmark::DoNotOptimize(ratoon::progress::render_bar(bar, 120, ratoon::progress::Glyphs::kUtf8));
}
BENCHMARK(render_bar);

void report_metric(benchmark::State& state) {
  ratoon::Metrics metrics;
  for (auto _ : state) metrics.report("loss", 0.5, 256);
}
BENCHMARK(report_metric);

}  // namespace

BENCHMARK_MAIN();
