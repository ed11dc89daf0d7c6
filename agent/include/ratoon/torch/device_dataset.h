// DeviceDataset: loads all samples once and keeps them on a device. The rows of a batch are selected with an
// index tensor. Use a DeviceDataset if the data set, or the rank's subset of it, fits into the device's
// memory. Before it loads a sample, the constructor compares the needed memory with the free memory.
//
//   const ratoon::ReplicaSubset mine({.samples = all->size(), .rank = r, .world_size = w, .fraction = 0.25});
//   const auto subset = ratoon::SubsetDataset::of_ids(all, mine.ids());
//   const ratoon::torch::DeviceDataset held(*subset, {.device = torch::kCUDA, .say = print});
//   ratoon::Stream stream(mine.stream({.global_batch = 32, .seed = 17, .source = all->digest()}));
//   for (auto step : session.steps(1000)) {
//     const auto index = held.index(stream.take(0, 1));
//     train_on(held.rows("image", index), held.rows("label", index));
//   }
//
// Thread contract: const methods may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include <ratoon/dataset.h>
#include <ratoon/stream_reader.h>

namespace ratoon::torch {

struct DeviceDatasetOptions {
  at::Device device = at::kCPU;
  std::vector<std::string> columns{};  // empty: all
  std::uint64_t spare_bytes = 0;       // bytes that must stay free for the training itself
  std::uint32_t threads = 4;           // threads that read
  // A function that receives a message with the needed and the available bytes before loading begins.
  std::function<void(const std::string& sentence)> say{};
};

struct DeviceNeed {
  std::uint64_t bytes = 0;      // of all rows of all columns
  std::uint64_t available = 0;  // on the device now, minus the spare bytes
  std::string sentence{};       // a message with both values

  [[nodiscard]] bool fits() const { return bytes <= available; }
};

class DeviceDataset {
 public:
  // Loads all samples. Throws Failure if the samples do not fit into the memory or cannot be read. Throws
  // std::invalid_argument if a column does not exist or its rows differ in shape.
  DeviceDataset(const Dataset& dataset, const DeviceDatasetOptions& options);

  // Returns how much device memory the constructor will need. need_of() reads no sample.
  [[nodiscard]] static DeviceNeed need_of(const Dataset& dataset, const DeviceDatasetOptions& options);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Returns a column as a tensor of shape [size, shape of a row...]. For an unknown name, throws
  // std::invalid_argument that lists the existing names.
  [[nodiscard]] const at::Tensor& column(std::string_view name) const;

  // Returns the sample numbers of slots, or any list of sample numbers, as an index tensor on the device. One
  // index tensor selects the rows of a batch in every column. If the stream has several sources, pass the
  // stream's reader() to index(), and let the data set store one source after the other, like a
  // ConcatDataset. Without a reader, index() throws Failure with exit code 82 for several sources.
  [[nodiscard]] at::Tensor index(std::span<const Slot> slots) const;
  [[nodiscard]] at::Tensor index(std::span<const Slot> slots, const StreamReader& reader) const;
  [[nodiscard]] at::Tensor index(std::span<const std::uint64_t> samples) const;
  [[nodiscard]] at::Tensor rows(std::string_view column, const at::Tensor& index) const;

 private:
  std::uint64_t size_;
  at::Device device_;
  std::map<std::string, at::Tensor, std::less<>> columns_;
};

}  // namespace ratoon::torch
