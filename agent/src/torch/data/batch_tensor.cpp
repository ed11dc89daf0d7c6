#include <algorithm>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>

#include <ratoon/torch/batch_tensor.h>

#include "agent/src/torch/data/samples_of.h"

namespace ratoon::torch {
namespace {

std::vector<std::int64_t> sizes_of(std::span<const std::uint64_t> shape) {
  return {shape.begin(), shape.end()};
}

// `owner` keeps the bytes of the tensor valid as long as the tensor exists.
template <class Owner>
at::Tensor view_of(ElementType type, std::span<const std::uint64_t> shape, std::span<const std::byte> bytes,
                   Owner owner) {
  const at::TensorOptions options(scalar_type_of(type));
  const std::vector<std::int64_t> sizes = sizes_of(shape);
  if (bytes.empty()) return at::empty(sizes, options);
  auto* data = const_cast<std::byte*>(bytes.data());
  return at::from_blob(data, sizes, [owner = std::move(owner)](void*) {}, options);
}

struct NoOwner {};

at::Tensor index_of(const std::vector<std::size_t>& samples) {
  at::Tensor index = at::empty({static_cast<std::int64_t>(samples.size())}, at::TensorOptions(at::kLong));
  std::ranges::copy(samples, index.mutable_data_ptr<std::int64_t>());
  return index;
}

ElementType element_type_of(at::ScalarType type) {
  for (const ElementType candidate :
       {ElementType::kUint8, ElementType::kInt8, ElementType::kUint16, ElementType::kInt16,
        ElementType::kUint32, ElementType::kInt32, ElementType::kUint64, ElementType::kInt64,
        ElementType::kFloat16, ElementType::kFloat32, ElementType::kFloat64}) {
    if (scalar_type_of(candidate) == type) return candidate;
  }
  throw std::invalid_argument(std::string("a sample cannot hold a tensor of ") + at::toString(type) +
                              ": convert it first, for example to Float");
}

}  // namespace

at::ScalarType scalar_type_of(ElementType type) {
  switch (type) {
    case ElementType::kBytes:
    case ElementType::kText:
    case ElementType::kUint8:
      break;
    case ElementType::kInt8:
      return at::kChar;
    case ElementType::kUint16:
      return at::kUInt16;
    case ElementType::kInt16:
      return at::kShort;
    case ElementType::kUint32:
      return at::kUInt32;
    case ElementType::kInt32:
      return at::kInt;
    case ElementType::kUint64:
      return at::kUInt64;
    case ElementType::kInt64:
      return at::kLong;
    case ElementType::kFloat16:
      return at::kHalf;
    case ElementType::kFloat32:
      return at::kFloat;
    case ElementType::kFloat64:
      return at::kDouble;
    case ElementType::kBool:
      return at::kBool;
    case ElementType::kBfloat16:
      return at::kBFloat16;
    case ElementType::kFloat8E4m3Fn:
      return at::kFloat8_e4m3fn;
    case ElementType::kFloat8E5m2:
      return at::kFloat8_e5m2;
    case ElementType::kComplex64:
      return at::kComplexFloat;
  }
  return at::kByte;
}

at::Tensor tensor(const Batch& batch, std::string_view name) {
  const BatchColumn& column = batch.column(name);
  return view_of(column.type(), column.shape(), column.bytes(), batch);
}

std::vector<at::Tensor> tensors(const Batch& batch, std::string_view name) {
  const BatchColumn& column = batch.column(name);
  std::vector<at::Tensor> rows;
  rows.reserve(column.rows());
  for (std::size_t i = 0; i < column.rows(); ++i) {
    const Field row = column.row(i);
    rows.push_back(view_of(row.type, row.shape, row.bytes, batch));
  }
  return rows;
}

at::Tensor index(std::span<const Slot> slots) {
  return index_of(sample_indices_of_one_source(slots));
}

at::Tensor index(std::span<const Slot> slots, const StreamReader& reader) {
  return index_of(samples_of(reader, slots));
}

std::function<std::shared_ptr<std::byte>(std::size_t)> pinned_memory() {
  if (!at::detail::getCUDAHooks().hasCUDA()) return {};
  return [](std::size_t bytes) {
    const at::TensorOptions options = at::TensorOptions(at::kByte).pinned_memory(true);
    auto memory = std::make_shared<at::Tensor>(at::empty({static_cast<std::int64_t>(bytes)}, options));
    auto* data = static_cast<std::byte*>(memory->mutable_data_ptr());
    return std::shared_ptr<std::byte>(std::move(memory), data);
  };
}

struct ToDevice::Copies {
  struct Copy {
    c10::Event done;
    Batch batch;
  };
  std::deque<Copy> running;  // nearly all of one stream, so they end in about this order

  void release() {
    while (!running.empty() && running.front().done.query()) running.pop_front();
  }
};

ToDevice::ToDevice(at::Device device) : device_(device), copies_(std::make_unique<Copies>()) {
  if (!device_.is_cpu() && !device_.has_index()) device_.set_index(at::accelerator::getDeviceIndex());
}

ToDevice::~ToDevice() {
  try {
    const c10::DeviceGuard guard(device_);
    for (const Copies::Copy& copy : copies_->running) copy.done.synchronize();
    copies_->running.clear();
  } catch (const std::exception&) {
    // The device failed, and the program is told so elsewhere. Nothing says whether the device still reads
    // the batches, so their memory is not freed.
    static_cast<void>(copies_.release());
  }
}

at::Tensor ToDevice::operator()(const Batch& batch, std::string_view column) const {
  at::Tensor there = tensor(batch, column);
  if (device_.is_cpu()) return there;
  const c10::DeviceGuard guard(device_);
  copies_->release();
  there = there.to(device_, /*non_blocking=*/true);
  c10::Event done(device_.type());
  done.record(at::accelerator::getCurrentStream(device_.index()));
  copies_->running.push_back({std::move(done), batch});
  return there;
}

at::Tensor tensor(const Field& field) {
  return view_of(field.type, field.shape, field.bytes, NoOwner{});
}

void replace(Sample& sample, std::size_t column, const at::Tensor& tensor) {
  const at::Tensor dense = tensor.contiguous();
  const std::vector<std::uint64_t> shape(dense.sizes().begin(), dense.sizes().end());
  const std::span<std::byte> into = sample.replace(column, element_type_of(dense.scalar_type()), shape);
  if (!into.empty()) std::memcpy(into.data(), dense.const_data_ptr(), into.size());
}

at::Generator generator(SampleRandom& random) {
  at::mt19937_data_pod state{};
  state.seed_ = random.next_u64();
  state.seeded_ = true;
  state.left_ = 1;  // the next number twists the state first, as after a seed
  state.next_ = 0;
  for (std::uint32_t& word : state.state_) word = random.next_u32();
  at::mt19937 engine;
  engine.set_data(state);
  at::Generator made = at::detail::createCPUGenerator(state.seed_);
  made.get<at::CPUGeneratorImpl>()->set_engine(engine);
  return made;
}

}  // namespace ratoon::torch
