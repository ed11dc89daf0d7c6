// StreamSampler: the order of a Stream under LibTorch's own data loader. The loader stays as it is, only its
// sampler changes:
//
//   ratoon::torch::StreamSampler sampler({.samples = 60000, .global_batch = 256, .seed = 17}, rank, world);
//   auto loader = torch::data::make_data_loader(dataset, sampler, options);  // .batch_size(256 / world)
//   sampler.set_iteration(batches_done);  // where set_epoch() stood
//   for (auto& batch : *loader) {         // to the end of the epoch
//     train_on(batch);
//     sampler.advance();  // this one counts; what the loader fetched ahead does not
//   }
//
// Every begin() of the loader goes on from the first batch that is not trained, and ends with its epoch: the
// first epoch after a resume is the rest of the one that was interrupted. Each batch is the rank's share of a
// batch of the stream. docs/train/torch_loader.md says what to know of LibTorch's loader itself.
//
// Thread contract: the thread that iterates. Copies are the same sampler: make_data_loader() takes one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <torch/data/samplers/base.h>
#include <torch/data/samplers/serialize.h>

#include <ratoon/stateful.h>
#include <ratoon/stream.h>

namespace ratoon::torch {

class StreamSampler : public ::torch::data::samplers::Sampler<>, public Stateful {
 public:
  // Knows its place by a number of batches alone. Throws std::invalid_argument where there is no such rank or
  // stream.
  explicit StreamSampler(const StreamOptions& options, std::uint32_t rank = 0, std::uint32_t world_size = 1);
  // Stands where the stream stands, which outlives it; session.track() the stream.
  explicit StreamSampler(Stream& stream, std::uint32_t rank = 0, std::uint32_t world_size = 1);

  // So many batches of the run are trained: batches of the loader, whatever number of them makes an optimizer
  // step. The sampler of a Stream moves it, and so cannot go back.
  void set_iteration(std::uint64_t batches);
  // That many more are. Throws std::invalid_argument if the loader has not fetched as many.
  void advance(std::uint64_t batches = 1);

  // Batches trained, and where the next one is: enumerate() as it would be in a run without interruption.
  [[nodiscard]] std::uint64_t iteration() const;
  [[nodiscard]] std::uint64_t epoch() const;
  [[nodiscard]] std::uint64_t index_in_epoch() const;
  [[nodiscard]] std::uint64_t batches_in_epoch() const;

  // For the program's own checkpoint; torch::save() and torch::load() do the same. Any rank of any world can
  // load it. load_state throws Failure where it is of other data, seed or order.
  [[nodiscard]] std::string save_state() const override;
  void load_state(std::string_view state) override;
  [[nodiscard]] bool is_position() const override { return true; }

  // ---- what the loader calls

  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;
  void save(::torch::serialize::OutputArchive& archive) const override;
  void load(::torch::serialize::InputArchive& archive) override;

 private:
  struct Place;

  std::shared_ptr<Place> place_;
};

}  // namespace ratoon::torch
