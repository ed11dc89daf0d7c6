#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/Context.h>
#include <ATen/ops/randn.h>
#include <torch/nn/functional/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <ratoon/torch.h>

#include "agent/src/torch/collectives/averager.h"
#include "agent/src/torch/collectives/nccl/device_collectives.h"
#include "agent/src/torch/collectives/nccl/nccl_collective.h"
#include "tests/gpu/probe/gpu.h"
#include "tests/gpu/probe/rows.h"
#include "tests/gpu/probe/stages.h"

namespace ratoon::gpu_probe {
namespace {

constexpr std::int64_t kWidth = 2048;  // 16 MiB of weights a layer
constexpr std::int64_t kBatch = 4096;
constexpr int kRounds = 9;
constexpr int kWarmUp = 2;

// NCCL, and a stand-in for the network: a world of one sends nothing, so a kernel that only waits, on the
// stream of the sums, takes the time that a piece would need.
bool has_wire = false;
constexpr double kWireBytesPerSecond = 100e9;

class WithWire final : public Collective {
 public:
  explicit WithWire(std::unique_ptr<Collective> inner, c10::Device device)
      : inner_(std::move(inner)), wire_(device) {}

  void begin_sum(const at::Tensor& piece) override {
    inner_->begin_sum(piece);
    if (!has_wire) return;
    wire_.wait_for_current_stream();
    {
      const c10::StreamGuard guard(wire_.stream());
      queue_pause(static_cast<double>(piece.nbytes()) / kWireBytesPerSecond);
    }
    wire_.mark();
  }
  void queue_wait() override {
    inner_->queue_wait();
    if (has_wire) wire_.make_current_stream_wait();
  }
  void wait(const std::function<void()>& look) override {
    inner_->wait(look);
    while (has_wire && !wire_.is_marked_work_done()) {
    }
  }
  std::exception_ptr error() override { return inner_->error(); }
  void abort() override { inner_->abort(); }
  bool has_stopped() override { return inner_->has_stopped(); }

 private:
  std::unique_ptr<Collective> inner_;
  SideStream wire_;
};

std::unique_ptr<Collective> make_with_wire(const DeviceCollectivePlan& plan) {
  return std::make_unique<WithWire>(make_nccl_collective(plan), plan.device);
}

struct Net : ::torch::nn::Module {
  explicit Net(int layers) {
    for (int i = 0; i < layers; ++i)
      layers_.push_back(
          register_module("layer" + std::to_string(i),
                          ::torch::nn::Linear(::torch::nn::LinearOptions(kWidth, kWidth).bias(false))));
    to(gpu());
  }
  at::Tensor forward(at::Tensor x) {
    for (auto& layer : layers_) x = ::torch::relu(layer->forward(x)) + x;
    return x;
  }
  std::vector<::torch::nn::Linear> layers_{};
};

double median(std::vector<double> of) {
  std::ranges::sort(of);
  return of[of.size() / 2];
}

// Steps of two kinds alternate, so that both run at the same clock rates.
void measure(Rows& rows, Session& session, int layers) {
  Net net(layers);
  ::torch::optim::SGD optimizer(net.parameters(), ::torch::optim::SGDOptions(1e-6));
  const auto x = at::randn({kBatch, kWidth}, at::TensorOptions(gpu()));
  auto bare = make_nccl_collective(
      {.device = gpu(), .rank = 0, .world_size = 1, .broadcast_from_rank_0 = [](auto) {}, .look = [] {}});
  const auto backward = [&](const at::Tensor& loss) { loss.backward(); };
  const auto average = [&](const at::Tensor& loss, Averaging how) {
    how.backward = [&] { backward(loss); };
    session.average_gradients(net, how);
  };
  struct Kind {
    std::string name;
    bool wire;
    std::function<void(const at::Tensor&)> act;
  };
  const std::vector<Kind> kinds = {
      {"alone", false, backward},
      {"bare_nccl", false,
       [&](const at::Tensor& loss) {
         backward(loss);
         for (const at::Tensor& parameter : net.parameters()) bare->begin_sum(parameter.grad());
         bare->queue_wait();
         bare->wait([] {});
       }},
      {"gate", false, [&](const at::Tensor& loss) { average(loss, {}); }},
      {"no_gate", false, [&](const at::Tensor& loss) { average(loss, {.return_early = true}); }},
      {"after_backward", false,
       [&](const at::Tensor& loss) {
         backward(loss);
         session.average_gradients(net);
       }},
      {"wire_beside", true, [&](const at::Tensor& loss) { average(loss, {}); }},
      {"wire_after", true,
       [&](const at::Tensor& loss) {
         backward(loss);
         session.average_gradients(net);
       }},
  };
  std::map<std::string, std::vector<double>> seconds;
  for (int round = 0; round < kRounds + kWarmUp; ++round) {
    for (const Kind& kind : kinds) {
      has_wire = kind.wire;
      synchronize();
      const auto began = Clock::now();
      constexpr int kSteps = 2;
      for (int step = 0; step < kSteps; ++step) {
        optimizer.zero_grad();
        const auto loss = net.forward(x).square().mean();
        kind.act(loss);
        optimizer.step();
      }
      synchronize();
      if (round >= kWarmUp) seconds[kind.name].push_back(seconds_since(began) / kSteps);
    }
  }
  nlohmann::ordered_json row{{"mebibytes", layers * 16}, {"rounds", kRounds}};
  for (const Kind& kind : kinds) row["step_ms"][kind.name] = median(seconds[kind.name]) * 1e3;
  const auto ms = [&](const char* name) { return median(seconds[name]) * 1e3; };
  row["gate_over_bare_nccl"] = ms("gate") / ms("bare_nccl");
  row["gate_over_no_gate"] = ms("gate") / ms("no_gate");
  // The part of the network's time by which a step does not become longer.
  row["overlapped_share"] = 1 - (ms("wire_beside") - ms("gate")) / (ms("wire_after") - ms("after_backward"));
  rows.add(row);
}

}  // namespace

int averaging() {
  Rows rows("averaging");
  register_device_collective(c10::kCUDA, make_with_wire);
  averages_with_one_rank = true;
  at::globalContext().setAllowTF32CuBLAS(true);  // as trainers do: averaging weighs more beside it
  const auto folder = std::filesystem::temp_directory_path() / "ratoon-gpu-probe";
  const Options options{.save_folder = folder.string(),
                        .run_name = "probe",
                        .save_every = Every::steps(1ULL << 40),
                        .member = {},
                        .group = {}};
  const int code = train(options, [&](Session& session) {
    int value = 0;
    session.track("nothing", value);
    for ([[maybe_unused]] const std::uint64_t step : session.steps(1)) {
      for (const int layers : {1, 16, 160}) measure(rows, session, layers);
    }
  });
  std::filesystem::remove_all(folder);
  rows.expect(code == 0, "the training ends with 0");
  return rows.exit_code();
}

}  // namespace ratoon::gpu_probe
