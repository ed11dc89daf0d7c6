#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ATen/Context.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/utils.h>

#include <ratoon/torch.h>

#include "agent/src/torch/collectives/averager.h"
#include "agent/src/torch/collectives/group_collective.h"
#include "tests/gpu/probe/gpu.h"
#include "tests/gpu/probe/rows.h"
#include "tests/gpu/probe/stages.h"

namespace ratoon::gpu_probe {
namespace {

namespace fs = std::filesystem;

c10::intrusive_ptr<c10d::Backend> make_group(const fs::path& store) {
  fs::remove(store);
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(c10::make_intrusive<c10d::FileStore>(store.string(), 1),
                                                     0, 1);
}

struct Trained {
  int code = 1;
  std::vector<at::Tensor> weights{};
};

// The weights after 30 steps, averaged over a group of the program's own or over the session's group.
Trained train_over(const fs::path& folder, bool is_own) {
  Trained trained;
  const Options options{.save_folder = (folder / (is_own ? "own" : "session")).string(),
                        .run_name = "probe",
                        .save_every = Every::steps(10),
                        .member = {},
                        .group = {}};
  trained.code = train(options, [&](Session& session) {
    ::torch::manual_seed(3);
    ::torch::nn::Linear net(512, 512);
    net->to(gpu());
    ::torch::optim::Adam optimizer(net->parameters(), 1e-3);
    session.track("net", *net);
    session.track("optimizer", optimizer);
    if (is_own) torch::use_group(session, make_group(folder / "store"));
    for ([[maybe_unused]] const std::uint64_t step : session.steps(30)) {
      optimizer.zero_grad();
      const auto loss = net->forward(at::randn({64, 512}).to(gpu())).square().mean();
      session.average_gradients(*net, {.backward = [&] { loss.backward(); }});
      optimizer.step();
    }
    for (const at::Tensor& parameter : net->parameters()) trained.weights.push_back(parameter.detach().cpu());
  });
  return trained;
}

bool have_equal_bits(const Trained& one, const Trained& other) {
  bool are_equal = one.weights.size() == other.weights.size() && !one.weights.empty();
  for (std::size_t i = 0; are_equal && i < one.weights.size(); ++i)
    are_equal = at::equal(one.weights[i], other.weights[i]);
  return are_equal;
}

struct GivenUp {};

// A sum that waits behind a kernel is given up. Returns the seconds until nothing writes any longer.
double give_up_sum(Rows& rows, const at::Tensor& numbers, const fs::path& store) {
  GroupCollective collective(
      make_group(store), [](c10d::Backend& group) { group.abort(); }, GroupCollective::AbortKind::kLong);
  collective.begin_sum(numbers);
  collective.queue_wait();
  collective.wait([] {});
  queue_pause(0.02);
  collective.begin_sum(numbers);
  bool is_interrupted = false;
  try {
    collective.wait([] { throw GivenUp(); });
  } catch (const GivenUp&) {
    is_interrupted = true;
  }
  if (!is_interrupted) rows.expect(false, "a wait for the sums of the program's group can be interrupted");
  const auto began = Clock::now();
  collective.abort();
  while (!collective.has_stopped() && seconds_since(began) < 20) {
  }
  if (!collective.has_stopped()) rows.expect(false, "sums of the program's group stop within 20 s");
  return seconds_since(began);
}

}  // namespace

int own_group() {
  // As docs/train/gpu.md demands, the group's watchdogs must not end the process.
  ::setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", 1);
  ::setenv("TORCH_NCCL_ENABLE_MONITORING", "0", 1);
  ::setenv("TORCH_NCCL_RETHROW_CUDA_ERRORS", "0", 1);
  ::setenv("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "0", 1);
  Rows rows("own_group");
  averages_with_one_rank = true;
  at::globalContext().setDeterministicAlgorithms(true, true);
  const fs::path folder = fs::temp_directory_path() / "ratoon-gpu-own-group";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const Trained over_session = train_over(folder, false);
  rows.expect(over_session.code == 0, "a run over the session's group ends with 0");
  const Trained over_own = train_over(folder, true);
  rows.expect(over_own.code == 0, "a run over a ProcessGroupNCCL of the program ends with 0");
  rows.expect(have_equal_bits(over_session, over_own), "both runs end with weights of equal bits");

  const auto numbers = at::randn({1 << 20}, at::TensorOptions(gpu()));
  constexpr int kAttempts = 20;
  constexpr int kWarmUp = 5;
  std::optional<std::uint64_t> free_before;
  std::size_t threads_before = 0;
  double longest = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    longest = std::max(longest, give_up_sum(rows, numbers, folder / "store"));
    if (attempt != kWarmUp) continue;
    free_before = free_device_bytes();
    threads_before = threads_of_this_process();
  }
  constexpr std::uint64_t kSlack = 4 << 20;
  rows.add({{"attempts", kAttempts},
            {"longest_stop_s", longest},
            {"free_bytes", {*free_before, free_device_bytes()}},
            {"threads", {threads_before, threads_of_this_process()}}});
  rows.expect(free_device_bytes() + kSlack >= *free_before,
              "groups that were given up leave no device memory");
  rows.expect(threads_of_this_process() <= threads_before, "groups that were given up leave no threads");
  fs::remove_all(folder);
  return rows.exit_code();
}

}  // namespace ratoon::gpu_probe
