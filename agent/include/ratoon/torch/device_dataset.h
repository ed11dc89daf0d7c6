// DeviceDataset: samples that are loaded once and stay on a device; batches are rows of them. For a data set,
// or the part of it that a rank holds, which the device has room for: what that takes is known and compared
// with what is free before anything is loaded.
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
// Thread contract: const methods from any thread.
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
  std::vector<std::string> columns{};  // none: all
  std::uint64_t spare_bytes = 0;       // that must stay free besides, for what the training itself takes
  std::uint32_t threads = 4;           // that read
  std::function<void(const std::string& sentence)> say{};  // hears needed and available bytes before loading
};

struct DeviceNeed {
  std::uint64_t bytes = 0;      // of all rows of all columns
  std::uint64_t available = 0;  // on the device now, the spare bytes taken off
  std::string sentence{};       // with both

  [[nodiscard]] bool fits() const { return bytes <= available; }
};

class DeviceDataset {
 public:
  // Loads all samples. Throws Failure where they do not fit or cannot be read, std::invalid_argument for a
  // column that is not there or whose rows differ in shape.
  DeviceDataset(const Dataset& dataset, const DeviceDatasetOptions& options);

  // What the constructor will compare; reads no sample.
  [[nodiscard]] static DeviceNeed need_of(const Dataset& dataset, const DeviceDatasetOptions& options);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  // [size, shape of a row...]. Throws std::invalid_argument that lists the names there are.
  [[nodiscard]] const at::Tensor& column(std::string_view name) const;

  // The samples of slots, or any numbers below size(), as an index on the device; made once for all columns.
  // Slots of a stream of several sources need its reader, and a data set of the sources one after the other
  // (ConcatDataset); without it, Failure with exit code 82.
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
