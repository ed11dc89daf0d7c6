// The unchanged loop and loader of docs/train/loop.md: code of that page, killed and resumed.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>
#include <torch/data/dataloader.h>
#include <torch/data/datasets/map.h>
#include <torch/data/transforms/stack.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/serialize.h>

#include <ratoon/torch/atomic_save.h>
#include <ratoon/torch/digest.h>
#include <ratoon/torch/stream_sampler.h>

#include "tests/support/temporary_folder.h"

namespace {

constexpr std::size_t kSamples = 50;  // no whole number of batches
constexpr std::size_t kBatch = 8;
constexpr std::uint64_t kEpochs = 4;

struct Points : torch::data::datasets::Dataset<Points> {
  torch::data::Example<> get(std::size_t index) override {
    const auto x = torch::full({4}, static_cast<double>(index) / kSamples, torch::kFloat);
    return {x, x.narrow(0, 0, 1)};
  }
  std::optional<std::size_t> size() const override { return kSamples; }
};

void save(const torch::nn::Sequential& net, const torch::optim::Adam& optimizer,
          const ratoon::torch::StreamSampler& sampler, const std::filesystem::path& file) {
  torch::serialize::OutputArchive all, weights, moments;
  net->save(weights);
  optimizer.save(moments);
  all.write("net", weights);
  all.write("optimizer", moments);
  all.write("generator", at::detail::getDefaultCPUGenerator().get_state());
  all.write("iteration", c10::IValue(static_cast<std::int64_t>(sampler.iteration())));
  ratoon::torch::atomic_save(all, file);
}

void load(torch::nn::Sequential& net, torch::optim::Adam& optimizer, ratoon::torch::StreamSampler& sampler,
          const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return;
  torch::serialize::InputArchive all, weights, moments;
  all.load_from(file);
  all.read("net", weights);
  all.read("optimizer", moments);
  net->load(weights);
  optimizer.load(moments);
  torch::Tensor drawn;
  c10::IValue iteration;
  all.read("generator", drawn);
  all.read("iteration", iteration);
  auto generator = at::detail::getDefaultCPUGenerator();
  generator.set_state(drawn);
  sampler.set_iteration(static_cast<std::uint64_t>(iteration.toInt()));
}

class OwnLoop : public testing::Test {
 protected:
  // Returns the digest of the weights; ends as a killed process does before it trains batch `killed_at`.
  std::string train(const std::filesystem::path& file, std::uint64_t killed_at = ~std::uint64_t{0}) {
    torch::manual_seed(17);
    torch::nn::Sequential net(torch::nn::Linear(4, 8), torch::nn::Dropout(0.3), torch::nn::Linear(8, 1));
    torch::optim::Adam optimizer(net->parameters(), 1e-2);
    auto dataset = Points().map(torch::data::transforms::Stack<>());
    ratoon::torch::StreamSampler sampler({.samples = kSamples, .global_batch = kBatch, .seed = 17});
    auto loader = torch::data::make_data_loader(std::move(dataset), sampler,
                                                torch::data::DataLoaderOptions(kBatch).workers(2));
    load(net, optimizer, sampler, file);
    for (auto epoch = sampler.epoch(); epoch < kEpochs; ++epoch) {
      for (auto& batch : *loader) {
        if (sampler.iteration() == killed_at) throw std::runtime_error("killed");
        optimizer.zero_grad();
        torch::nn::functional::mse_loss(net->forward(batch.data), batch.target).backward();
        optimizer.step();
        sampler.advance();
        if (sampler.iteration() % 3 == 0) save(net, optimizer, sampler, file);
      }
    }
    return ratoon::digest(*net).value();
  }
  ratoon::test::TemporaryFolder folder_;
};

TEST_F(OwnLoop, KilledAnywhereItEndsWithTheBitsOfAnUnbrokenRun) {
  const std::string unbroken = train(folder_ / "unbroken.pt");
  for (const std::uint64_t kill : {1, 5, 7, 13, 22})
    EXPECT_THROW(train(folder_ / "killed.pt", kill), std::runtime_error);
  EXPECT_EQ(train(folder_ / "killed.pt"), unbroken);
}

}  // namespace
