// OrderSampler: gives LibTorch's data loader exactly the sample order of a Python sampler of PyTorch
// (ratoon/torch_order.h). The samplers of LibTorch give other orders than the samplers of PyTorch in Python.
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
// Thread contract: only the thread that iterates over the loader uses the sampler. The object `order` must
// outlive the loader. Save and load `order`, not the sampler.
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

// write_state() and read_state() write and read the state of a sampler as one text in an archive, for
// torch::save() and torch::load().
void write_state(::torch::serialize::OutputArchive& archive, const std::string& state);
[[nodiscard]] std::string read_state(::torch::serialize::InputArchive& archive);

}  // namespace detail

// The template parameter `Order` is ratoon::DistributedSampler or ratoon::RandomSampler.
template <class Order>
class OrderSampler : public ::torch::data::samplers::Sampler<> {
 public:
  explicit OrderSampler(Order& order) : sampler_(&order) {}

  // The loader calls reset() to continue with the first sample that is not trained.
  void reset(std::optional<std::size_t> = std::nullopt) override { sampler_->rewind(); }

  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override {
    const auto samples = sampler_->fetch(batch_size);
    if (samples.empty()) return std::nullopt;
    return std::vector<std::size_t>(samples.begin(), samples.end());
  }

  void save(::torch::serialize::OutputArchive& archive) const override {
    detail::write_state(archive, sampler_->save_state());
  }
  void load(::torch::serialize::InputArchive& archive) override {
    sampler_->load_state(detail::read_state(archive));
  }

 private:
  Order* sampler_;
};

}  // namespace ratoon::torch
