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

// A column whose rows are all of one shape: [rows, shape of a row...]. Nothing is copied: the tensor keeps
// the batch, and a change of one is a change of the other. Throws std::logic_error where rows differ.
[[nodiscard]] at::Tensor tensor(const Batch& batch, std::string_view column);

// A tensor a row, likewise; for rows that differ in shape.
[[nodiscard]] std::vector<at::Tensor> tensors(const Batch& batch, std::string_view column);

// The samples of slots, for index_select() of what the program itself holds on the CPU. Of a stream of
// several sources see the next one: throws Failure with exit code 82 where a slot is not of source 0.
//
//   const auto index = ratoon::torch::index(stream.take(session.rank(), session.world_size()));
//   train_on(images.index_select(0, index));
[[nodiscard]] at::Tensor index(std::span<const Slot> slots);
// The same of a stream of several sources, whose samples lie one source after the other, as in a
// ConcatDataset.
//
//   const auto index = ratoon::torch::index(slots, stream.reader());
[[nodiscard]] at::Tensor index(std::span<const Slot> slots, const StreamReader& reader);

// For LoaderOptions::allocate: memory that a GPU copies from by itself. Nothing without CUDA, which means
// ordinary memory.
[[nodiscard]] std::function<std::shared_ptr<std::byte>(std::size_t bytes)> pinned_memory();

// Columns as tensors on a device. From pinned memory the caller does not wait for a copy: work on the
// device's current stream comes after it. The batch is kept until its copies are done, so that the loader
// cannot use its memory again before.
//
// Thread contract: one thread.
class ToDevice {
 public:
  explicit ToDevice(at::Device device);
  ~ToDevice();  // waits for the last copies
  ToDevice(const ToDevice&) = delete;
  ToDevice& operator=(const ToDevice&) = delete;

  // As tensor() does; on the CPU that is all.
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

// A field as it lies, for as long as the sample has it. It may lie in a file that nobody may write to: change
// only what was copied.
[[nodiscard]] at::Tensor tensor(const Field& field);

// Puts a copy of a CPU tensor in the place of a field. Throws std::invalid_argument for an element type that
// ElementType has no name for.
void replace(Sample& sample, std::size_t column, const at::Tensor& tensor);

// A generator for LibTorch's random functions on the CPU that follows from the sample's own numbers. All its
// state is drawn from them; a seed of LibTorch's has 32 bits, too few to tell apart the samples of a run.
[[nodiscard]] at::Generator generator(SampleRandom& random);

}  // namespace ratoon::torch
