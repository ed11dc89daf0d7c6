#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>

#include "agent/src/torch/collectives/nccl/nccl_collective.h"
#include "tests/gpu/probe/gpu.h"
#include "tests/gpu/probe/rows.h"
#include "tests/gpu/probe/stages.h"

namespace ratoon::gpu_probe {
namespace {

struct Held {
  std::uint64_t free_bytes = free_device_bytes();
  std::size_t threads = threads_of_this_process();
  std::size_t descriptors = descriptors_of_this_process();
};

nlohmann::ordered_json spread(std::vector<double> of) {
  std::ranges::sort(of);
  return {{"min", of.front()}, {"median", of[of.size() / 2]}, {"max", of.back()}};
}

struct Interruption {};

}  // namespace

int restart() {
  Rows rows("restart");
  constexpr int kAttempts = 50;
  constexpr int kWarmUp = 10;
  const auto numbers = at::randn({16 << 20}, at::TensorOptions(gpu()));
  const auto before = numbers.clone();
  std::vector<double> connecting, stopping;
  std::unique_ptr<Collective> before_it;  // which NCCL still takes apart while the next one connects
  std::optional<Held> after_warm_up;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto began = Clock::now();
    auto collective = make_nccl_collective(
        {.device = gpu(), .rank = 0, .world_size = 1, .broadcast_from_rank_0 = [](auto) {}, .look = [] {}});
    collective->begin_sum(numbers);
    collective->queue_wait();
    collective->wait([] {});
    connecting.push_back(seconds_since(began));
    // The next sum waits behind a slow kernel, and is given up before the kernel ends.
    queue_pause(0.02);
    collective->begin_sum(numbers);
    bool is_interrupted = false;
    try {
      collective->wait([] { throw Interruption(); });
    } catch (const Interruption&) {
      is_interrupted = true;
    }
    if (!is_interrupted) rows.expect(false, "a wait for the accelerator can be interrupted");
    began = Clock::now();
    collective->abort();
    while (!collective->has_stopped()) {
    }
    stopping.push_back(seconds_since(began));
    before_it = std::move(collective);
    if (attempt == kWarmUp) {
      before_it.reset();
      after_warm_up.emplace();
    }
    if (attempt % 10 == 0)
      rows.add({{"attempt", attempt}, {"connect_s", connecting.back()}, {"stop_s", stopping.back()}});
  }
  before_it.reset();
  const Held now;
  rows.add({{"attempts", kAttempts}, {"connect_s", spread(connecting)}, {"stop_s", spread(stopping)}});
  rows.add({{"free_bytes_after_10", after_warm_up->free_bytes},
            {"free_bytes_at_the_end", now.free_bytes},
            {"threads_after_10", after_warm_up->threads},
            {"threads_at_the_end", now.threads},
            {"descriptors_after_10", after_warm_up->descriptors},
            {"descriptors_at_the_end", now.descriptors}});
  constexpr std::uint64_t kSlack = 4 << 20;
  rows.expect(now.free_bytes + kSlack >= after_warm_up->free_bytes, "the device's memory is given back");
  rows.expect(now.threads <= after_warm_up->threads, "threads are flat");
  rows.expect(now.descriptors <= after_warm_up->descriptors, "descriptors are flat");
  rows.expect(std::ranges::max(connecting) + std::ranges::max(stopping) <= 1.5,
              "from the release to the next sum it takes no more than 1.5 s");
  rows.expect(at::equal(numbers, before), "sums of one rank are its own numbers");
  return rows.exit_code();
}

}  // namespace ratoon::gpu_probe
