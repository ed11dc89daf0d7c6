// StreamSampler: gives LibTorch's data loader the sample order of a ratoon::Stream. Compared with a program
// without Ratoon, only the sampler of the loader and the calls of the sampler differ:
//
//   ratoon::torch::StreamSampler sampler({.samples = 60000, .global_batch = 256, .seed = 17}, rank, world);
//   auto loader = torch::data::make_data_loader(dataset, sampler, sampler.batch_size());
//   sampler.set_iteration(batches_done);  // in place of set_epoch()
//   for (auto& batch : *loader) {         // to the end of the epoch
//     train_on(batch);
//     sampler.advance();  // counts this batch; prefetched batches do not count
//   }
//
// Each loop over the loader begins with the first batch that is not trained and ends at the end of that
// batch's epoch. After a resume, the first loop iterates over the rest of the interrupted epoch. Each batch
// of the loader has this rank's samples of one batch of the stream. docs/train/torch_loader.md describes
// LibTorch's loader.
//
// Thread contract: only the thread that iterates may use the sampler. Copies of a sampler share one position,
// because make_data_loader() copies the sampler.
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
  // Creates a sampler that keeps its own position in the order. Throws std::invalid_argument if the rank or
  // the stream is not valid.
  explicit StreamSampler(const StreamOptions& options, std::uint32_t rank = 0, std::uint32_t world_size = 1);
  // Creates a sampler that uses and moves the position of `stream`. The stream must outlive the sampler. Pass
  // the stream, not the sampler, to session.track().
  explicit StreamSampler(Stream& stream, std::uint32_t rank = 0, std::uint32_t world_size = 1);

  // Sets the number of the loader's batches that the run has trained so far. This number exceeds the number
  // of optimizer steps if a step accumulates the gradients of several batches. If the sampler uses a Stream,
  // `batches` must not be below the stream's number of trained batches.
  void set_iteration(std::uint64_t batches);
  // Counts the next `batches` batches as trained. Throws std::invalid_argument if the loader fetched fewer.
  void advance(std::uint64_t batches = 1);

  // Returns the number of trained batches of the run, which is also the index of the next batch.
  [[nodiscard]] std::uint64_t iteration() const;
  [[nodiscard]] std::uint64_t epoch() const;
  [[nodiscard]] std::uint64_t index_in_epoch() const;
  [[nodiscard]] std::uint64_t batches_in_epoch() const;
  // Returns the batch_size that LibTorch's loader needs: the largest share that this rank may have of a
  // batch, which is the global batch divided by the number of ranks, rounded up.
  [[nodiscard]] std::size_t batch_size() const;

  // Returns a text for the program's own checkpoint. torch::save() and torch::load() use the same text. Every
  // rank can load the state, also if the number of ranks has changed. load_state() throws Failure if the
  // state has other data, another seed or another order.
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

  std::shared_ptr<LoopPosition> loop_position_;
};

}  // namespace ratoon::torch
