// StreamSampler: the order of a Stream for LibTorch's own data loader. The loader's sampler is the only
// difference to a program without Ratoon:
//
//   ratoon::torch::StreamSampler sampler({.samples = 60000, .global_batch = 256, .seed = 17}, rank, world);
//   auto loader = torch::data::make_data_loader(dataset, sampler, options);  // .batch_size(256 / world)
//   sampler.set_iteration(batches_done);  // in place of set_epoch()
//   for (auto& batch : *loader) {         // to the end of the epoch
//     train_on(batch);
//     sampler.advance();  // counts this batch; prefetched batches do not count
//   }
//
// Every begin() of the loader starts a loop from the first batch that is not trained to the end of that
// batch's epoch. The first epoch after a resume is therefore the rest of the interrupted epoch. Each batch is
// the rank's share of a batch of the stream. docs/train/torch_loader.md describes LibTorch's loader itself.
//
// Thread contract: only the thread that iterates may use the sampler. Copies share one position, because
// make_data_loader() takes a copy.
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
  // Creates a sampler with its own position, a number of batches. Throws std::invalid_argument if the rank or
  // the stream is not valid.
  explicit StreamSampler(const StreamOptions& options, std::uint32_t rank = 0, std::uint32_t world_size = 1);
  // Uses the position of the stream, which must outlive the sampler; pass the stream to session.track().
  explicit StreamSampler(Stream& stream, std::uint32_t rank = 0, std::uint32_t world_size = 1);

  // Sets the number of trained batches of the run: batches of the loader, also if an optimizer step uses
  // several of them. A sampler of a Stream moves the stream, and cannot move it back.
  void set_iteration(std::uint64_t batches);
  // Adds trained batches. Throws std::invalid_argument if more batches would be trained than were fetched.
  void advance(std::uint64_t batches = 1);

  // The number of trained batches, and the position of the next batch: the index of enumerate() in an
  // uninterrupted run.
  [[nodiscard]] std::uint64_t iteration() const;
  [[nodiscard]] std::uint64_t epoch() const;
  [[nodiscard]] std::uint64_t index_in_epoch() const;
  [[nodiscard]] std::uint64_t batches_in_epoch() const;

  // The text of save_state() is for the program's own checkpoint; torch::save() and torch::load() use the
  // same text. Any rank of any world can load the state. load_state throws Failure if the state is of other
  // data, another seed or another order.
  [[nodiscard]] std::string save_state() const override;
  void load_state(std::string_view state) override;
  [[nodiscard]] bool is_position() const override { return true; }

  // ---- LibTorch's loader calls the functions below.

  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;
  void save(::torch::serialize::OutputArchive& archive) const override;
  void load(::torch::serialize::InputArchive& archive) override;

 private:
  struct LoopPosition;

  std::shared_ptr<LoopPosition> place_;
};

}  // namespace ratoon::torch
