// The speed of averaging gradients beside c10d's all-reduce alone, of the same buckets over the same
// loopback: the goal is 0.95 of its speed. Ranks are processes; the two methods take turns within each step.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <benchmark/benchmark.h>
#include <spawn.h>
#include <sys/wait.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/nn/module.h>

#include <ratoon/torch.h>

#include "agent/src/torch/collectives/gloo.h"
#include "agent/src/torch/collectives/gradients/gradient_buckets.h"
#include "tests/support/temporary_folder.h"

namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::int64_t kElements = 1 << 18;  // of a parameter: 1 MiB
constexpr std::uint64_t kWarmUp = 5;
constexpr std::uint64_t kSteps = 45;

struct Model : torch::nn::Module {
  explicit Model(std::int64_t parameters) {
    for (std::int64_t i = 0; i < parameters; ++i)
      register_parameter("p" + std::to_string(i), at::zeros({kElements}));
  }

  // Gradients as backward() leaves them after zero_grad(): each in memory of its own.
  void give_gradients() {
    for (at::Tensor& parameter : this->parameters()) parameter.mutable_grad() = at::ones_like(parameter);
  }
};

struct Times {
  std::vector<double> ours{};
  std::vector<double> bare{};
};

double median(std::vector<double> of) {
  std::ranges::nth_element(of, of.begin() + std::ssize(of) / 2);
  return of[of.size() / 2];
}

void all_reduce(c10d::Backend& group, std::vector<at::Tensor>& pieces) {
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
  for (at::Tensor& piece : pieces) {
    std::vector<at::Tensor> one{piece};
    works.push_back(group.allreduce(one));
  }
  for (const auto& work : works) work->wait();
}

double seconds_of(const auto& act) {
  const auto began = std::chrono::steady_clock::now();
  act();
  return Seconds(std::chrono::steady_clock::now() - began).count();
}

// The work of one rank; the first rank leaves the medians in the folder.
int train(std::uint32_t rank, std::uint32_t size, std::int64_t parameters, const std::string& folder) {
  at::set_num_threads(1);
  const ratoon::Options options{
      .save_folder = folder,
      .run_name = "bench",
      .save_every = ratoon::Every::steps(1ULL << 40),
      .member = {},
      .group = {.rank = rank, .size = size, .name = "bench", .is_on_one_machine = true}};
  return ratoon::train(options, [&](ratoon::Session& session) {
    Model model(parameters);
    const auto group = ratoon::connect_with_gloo(
        c10::make_intrusive<c10d::FileStore>(folder + "/store", static_cast<int>(size)),
        static_cast<int>(rank), static_cast<int>(size), "127.0.0.1", std::chrono::minutes(2));
    ratoon::GradientBuckets buckets(model.parameters(), ratoon::Session::kNumbers);
    std::vector<at::Tensor> word{at::zeros({1})};
    Times times;
    for (const std::uint64_t step : session.steps(kWarmUp + kSteps)) {
      model.give_gradients();
      all_reduce(*group, word);  // all begin at once
      const double ours = seconds_of([&] { session.average_gradients(model); });
      all_reduce(*group, word);
      const double bare = seconds_of([&] { all_reduce(*group, buckets.pieces()); });
      if (step < kWarmUp) continue;
      times.ours.push_back(ours);
      times.bare.push_back(bare);
    }
    if (rank == 0) std::ofstream(folder + "/times") << median(times.ours) << ' ' << median(times.bare);
  });
}

bool run_ranks(std::uint32_t size, std::int64_t parameters, const std::string& folder) {
  std::vector<pid_t> pids;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    std::vector<std::string> words = {"bench_averaging",          "--rank",
                                      std::to_string(rank),       std::to_string(size),
                                      std::to_string(parameters), folder};
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    pid_t pid = 0;
    if (::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, pointers.data(), environ) == 0)
      pids.push_back(pid);
  }
  bool is_good = pids.size() == size;
  for (const pid_t pid : pids) {
    int status = 0;
    is_good = ::waitpid(pid, &status, 0) == pid && status == 0 && is_good;
  }
  return is_good;
}

void average(benchmark::State& state) {
  for (auto _ : state) {
    const ratoon::test::TemporaryFolder folder;
    double ours = 0;
    double bare = 0;
    const bool is_good =
        run_ranks(static_cast<std::uint32_t>(state.range(0)), state.range(1), folder.path().string());
    if (!is_good || !(std::ifstream(folder / "times") >> ours >> bare)) {
      state.SkipWithError("a rank failed");
      return;
    }
    state.SetIterationTime(ours);
    state.counters["bare_seconds"] = bare;
    state.counters["limit_seconds"] = bare / 0.95;
    state.counters["of_bare"] = bare / ours;
  }
}
BENCHMARK(average)
    ->ArgNames({"ranks", "mib"})
    ->ArgsProduct({{2, 4}, {1, 16, 64}})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "--rank") {
    return train(static_cast<std::uint32_t>(std::stoul(argv[2])),
                 static_cast<std::uint32_t>(std::stoul(argv[3])), std::stoll(argv[4]), argv[5]);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
