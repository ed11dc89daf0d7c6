// Batches of a DataLoader as tensors, and samples as tensors for augmentation by LibTorch.
//
//   const ratoon::torch::ToDevice to_device(torch::kCUDA);
//   ratoon::DataLoader loader(data, stream, {.rank = rank, .world_size = world,
//                                            .allocate = ratoon::torch::pinned_memory()});
//   ratoon::Batch batch = loader.next();
//   auto loss = torch::nll_loss(net->forward(to_device(batch, "x")), to_device(batch, "y"));
//
// Element types keep their names; bytes and text become uint8.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <ratoon/batch.h>
#include <ratoon/sample.h>
#include <ratoon/sample_random.h>
#include <ratoon/stream_reader.h>

namespace ratoon::torch {

[[nodiscard]] at::ScalarType scalar_type_of(ElementType type);

// Returns a column whose rows have the same shape as one tensor: [rows, shape of a row...]. Nothing is
// copied: the tensor keeps the batch alive and shares the batch's memory. Throws std::logic_error if the rows
// differ in shape.
[[nodiscard]] at::Tensor tensor(const Batch& batch, std::string_view column);

// Returns one tensor per row, also without a copy, for rows that differ in shape.
[[nodiscard]] std::vector<at::Tensor> tensors(const Batch& batch, std::string_view column);

// Returns the sample numbers of slots, for index_select() on tensors that the program holds on the CPU. For a
// stream of several sources use the overload below: this overload throws Failure with exit code 82 if a slot
// is not of source 0.
//
//   const auto index = ratoon::torch::index(stream.take(session.rank(), session.world_size()));
//   train_on(images.index_select(0, index));
[[nodiscard]] at::Tensor index(std::span<const Slot> slots);
// The overload for a stream of several sources, whose samples are stored one source after the other, as in a
// ConcatDataset.
//
//   const auto index = ratoon::torch::index(slots, stream.reader());
[[nodiscard]] at::Tensor index(std::span<const Slot> slots, const StreamReader& reader);

// Provides pinned memory for LoaderOptions::allocate: a GPU copies from it without the CPU. Without CUDA,
// pinned_memory() returns an empty function, which selects ordinary memory.
[[nodiscard]] std::function<std::shared_ptr<std::byte>(std::size_t bytes)> pinned_memory();

// Columns as tensors on a device. A copy from pinned memory does not block the caller: later work on the
// device's current stream waits for the copy. ToDevice keeps a batch until its copies are done: the loader
// reuses its memory only after that.
//
// Thread contract: one thread at a time.
class ToDevice {
 public:
  explicit ToDevice(at::Device device);
  ~ToDevice();  // waits for the last copies
  ToDevice(const ToDevice&) = delete;
  ToDevice& operator=(const ToDevice&) = delete;

  // Returns a column as tensor() does, on the device; on the CPU nothing is copied.
  [[nodiscard]] at::Tensor operator()(const Batch& batch, std::string_view column) const;

 private:
  struct Copies;

  at::Device device_;
  std::unique_ptr<Copies> copies_;
};

// ---- for LoaderOptions::augment
//
//   void augment(ratoon::Sample& sample, ratoon::SampleRandom& random) {
//     auto generator = ratoon::torch::generator(random);
//     auto image = ratoon::torch::tensor(sample.field(0)).to(torch::kFloat) / 255;
//     ratoon::torch::replace(sample, 0, image + 0.1 * torch::randn(image.sizes(), generator));
//   }

// A view of a field, valid while the sample has the field. The view's memory may be a read-only file: change
// only a copy.
[[nodiscard]] at::Tensor tensor(const Field& field);

// Replaces a field with a copy of a CPU tensor. Throws std::invalid_argument if the tensor's type has no
// ElementType.
void replace(Sample& sample, std::size_t column, const at::Tensor& tensor);

// A generator for LibTorch's random functions on the CPU, derived from the sample's random numbers. The
// generator's whole state is drawn from `random`, because a LibTorch seed has 32 bits, too few to distinguish
// a run's samples.
[[nodiscard]] at::Generator generator(SampleRandom& random);

}  // namespace ratoon::torch
