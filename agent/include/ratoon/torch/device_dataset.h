// DeviceDataset: samples that are loaded once and stay on a device; batches are rows of them. Use a
// DeviceDataset for a data set, or a rank's part of it, that fits the device. The needed memory is compared
// with the free memory before anything is loaded.
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
  // Receives a message with the needed and the available bytes before loading begins.
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
  // Loads all samples. Throws Failure if the samples do not fit or cannot be read, and std::invalid_argument
  // for a column that does not exist or whose rows differ in shape.
  DeviceDataset(const Dataset& dataset, const DeviceDatasetOptions& options);

  // Returns how much memory the constructor will need, without reading a sample.
  [[nodiscard]] static DeviceNeed need_of(const Dataset& dataset, const DeviceDatasetOptions& options);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  // A column of shape [size, shape of a row...]. An unknown name throws std::invalid_argument with all names.
  [[nodiscard]] const at::Tensor& column(std::string_view name) const;

  // The samples of slots, or any list of numbers below size(), as an index on the device. One index works for
  // all columns. Slots of a stream of several sources need the stream's reader, and a data set that stores
  // one source after the other (ConcatDataset). Without the reader, index() throws Failure with exit code 82
  // for slots of several sources.
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
