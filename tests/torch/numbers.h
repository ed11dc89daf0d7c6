// A user's dataset whose examples are their own numbers, and the examples of a loop without LibTorch's
// loader: the reference of the tests of samplers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <torch/data/datasets/base.h>

#include <ratoon/stream.h>

namespace ratoon::test {

using Ids = std::vector<std::size_t>;
using Batches = std::vector<Ids>;

// The state that the copies of a dataset in all workers share.
struct KeyValueStore {
  std::atomic<std::size_t> reads = 0;
  std::atomic<std::size_t> bad = std::size_t(-1);  // this example cannot be read
};

struct Numbers : ::torch::data::datasets::Dataset<Numbers, std::size_t> {
  explicit Numbers(std::size_t numbers, std::shared_ptr<KeyValueStore> to = std::make_shared<KeyValueStore>())
      : size_(numbers), notes(std::move(to)) {}
  std::size_t get(std::size_t index) override {
    ++notes->reads;
    if (index == notes->bad) throw std::domain_error("example " + std::to_string(index) + " is bad");
    if (index >= size_) throw std::out_of_range("there is no example " + std::to_string(index));
    return index;
  }
  std::optional<std::size_t> size() const override { return size_; }
  std::size_t size_;
  std::shared_ptr<KeyValueStore> notes;
};

inline StreamOptions of(std::uint64_t samples, std::uint64_t batch, EpochEnd epoch_end = EpochEnd::kCarry) {
  return {.samples = samples, .global_batch = batch, .seed = 5, .source = "s", .epoch_end = epoch_end};
}

inline Ids samples_of(const std::vector<Slot>& slots) {
  Ids ids;
  for (const Slot& slot : slots) ids.push_back(slot.sample);
  return ids;
}

inline Batches of_stream(const StreamOptions& options, std::size_t batches, std::uint32_t rank = 0,
                         std::uint32_t world = 1) {
  Stream stream(options);
  Batches all;
  for (std::size_t i = 0; i < batches; ++i) all.push_back(samples_of(stream.take(rank, world)));
  return all;
}

inline Batches rest_of(const Batches& all, std::size_t from) {
  return {all.begin() + static_cast<std::ptrdiff_t>(from), all.end()};
}

inline std::string sentence_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace ratoon::test
