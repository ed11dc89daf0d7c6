// OrderSampler: one of PyTorch's own orders (ratoon/torch_order.h), bit for bit, for LibTorch's data loader.
// LibTorch's own samplers have other orders than PyTorch's samplers in Python.
//
//   ratoon::DistributedSampler order({.samples = 60000, .world_size = 8, .rank = rank, .seed = 17});
//   auto loader = torch::data::make_data_loader(dataset, ratoon::torch::OrderSampler(order), 32);
//   for (std::uint64_t epoch = order.epoch(); epoch < 90; ++epoch) {
//     order.set_epoch(epoch);
//     for (auto& batch : *loader) {  // the rest of the epoch
//       train_on(batch);
//       order.advance(batch.data.size(0));  // samples; what the loader fetched ahead does not count
//     }
//   }
//
// Thread contract: only the thread that iterates. The order must outlive the loader; save and load the order.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <torch/data/samplers/base.h>
#include <torch/data/samplers/serialize.h>

#include <ratoon/torch_order.h>

namespace ratoon::torch {

namespace detail {

// Write and read a state as one text in an archive, for torch::save(sampler, ...) and torch::load.
void write_state(::torch::serialize::OutputArchive& archive, const std::string& state);
[[nodiscard]] std::string read_state(::torch::serialize::InputArchive& archive);

}  // namespace detail

// `Order` is a DistributedSampler or a RandomSampler.
template <class Order>
class OrderSampler : public ::torch::data::samplers::Sampler<> {
 public:
  explicit OrderSampler(Order& order) : order_(&order) {}

  // The loader calls reset() to continue with the first sample that is not trained.
  void reset(std::optional<std::size_t> = std::nullopt) override { order_->rewind(); }

  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override {
    const auto samples = order_->fetch(batch_size);
    if (samples.empty()) return std::nullopt;
    return std::vector<std::size_t>(samples.begin(), samples.end());
  }

  void save(::torch::serialize::OutputArchive& archive) const override {
    detail::write_state(archive, order_->save_state());
  }
  void load(::torch::serialize::InputArchive& archive) override {
    order_->load_state(detail::read_state(archive));
  }

 private:
  Order* order_;
};

}  // namespace ratoon::torch
