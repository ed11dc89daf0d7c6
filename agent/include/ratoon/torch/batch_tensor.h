// Batches of a DataLoader as tensors, and samples as tensors for augmentation by LibTorch.
//
//   const ratoon::torch::ToDevice to_device(torch::kCUDA);
//   ratoon::DataLoader loader(data, stream, {.rank = rank, .world_size = world,
//                                            .allocate = ratoon::torch::pinned_memory()});
//   ratoon::Batch batch = loader.next();
//   auto loss = torch::nll_loss(net->forward(to_device(batch, "x")), to_device(batch, "y"));
//
// The tensors have the element types of the columns; bytes and text become uint8.
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

// Returns a column as one tensor of shape [rows, shape of a row...]. The tensor shares the memory of the
// batch and keeps the batch alive. Throws std::logic_error if the rows of the column differ in shape.
[[nodiscard]] at::Tensor tensor(const Batch& batch, std::string_view column);

// Returns one tensor per row, without a copy. Use tensors() if rows differ in shape.
[[nodiscard]] std::vector<at::Tensor> tensors(const Batch& batch, std::string_view column);

// Returns the sample numbers of slots (positions in a stream) as a CPU tensor, for index_select(). For a
// stream of several sources, also pass a StreamReader: without a reader, index() throws Failure with exit
// code 82 if a slot belongs to a second source.
//
//   const auto index = ratoon::torch::index(stream.take(session.rank(), session.world_size()));
//   train_on(images.index_select(0, index));
[[nodiscard]] at::Tensor index(std::span<const Slot> slots);
// Returns the sample numbers for a stream of several sources, whose samples are stored one source after the
// other, as in a ConcatDataset.
//
//   const auto index = ratoon::torch::index(slots, stream.reader());
[[nodiscard]] at::Tensor index(std::span<const Slot> slots, const StreamReader& reader);

// Returns a function for LoaderOptions::allocate that provides pinned memory, from which a GPU copies without
// the CPU. Without CUDA, pinned_memory() returns an empty function, which selects ordinary memory.
[[nodiscard]] std::function<std::shared_ptr<std::byte>(std::size_t bytes)> pinned_memory();

// Copies columns of batches to a device, as tensors. A copy from pinned memory does not block the caller, and
// later work on the device's current CUDA stream waits for it. ToDevice keeps a batch alive until its copies
// are done, so that the loader does not reuse its memory too early.
//
// Thread contract: only one thread at a time may use an object.
class ToDevice {
 public:
  explicit ToDevice(at::Device device);
  ~ToDevice();  // waits for the last copies
  ToDevice(const ToDevice&) = delete;
  ToDevice& operator=(const ToDevice&) = delete;

  // Returns a column as one tensor on the device; if the device is the CPU, nothing is copied.
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

// Returns a tensor that points into the field's memory, valid while the sample has the field. The memory may
// be a read-only mapped file, so change only a copy of the tensor.
[[nodiscard]] at::Tensor tensor(const Field& field);

// Replaces a field of a sample with a copy of a CPU tensor. Throws std::invalid_argument if the tensor's type
// has no ElementType.
void replace(Sample& sample, std::size_t column, const at::Tensor& tensor);

// Returns a generator for LibTorch's random functions on the CPU, seeded from the sample's random numbers.
// The whole state of the generator is drawn from `random`, because a 32-bit LibTorch seed would be the same
// for some of a run's samples.
[[nodiscard]] at::Generator generator(SampleRandom& random);

}  // namespace ratoon::torch
