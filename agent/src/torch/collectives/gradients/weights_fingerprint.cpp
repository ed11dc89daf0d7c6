#include "agent/src/torch/collectives/gradients/weights_fingerprint.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include <ATen/ops/arange.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/nn/module.h>

#include <ratoon/failure.h>
#include <ratoon/torch/tensor_bytes.h>

#include "base/contract/exit_code.h"
#include "base/core/xxh3.h"

namespace ratoon {
namespace {

// The maximum number of values that are summed at once. Summing takes 24 bytes of memory for each value.
constexpr std::int64_t kElementsPerChunk = 4 << 20;
// The factor is odd, so that a change of one number always changes the product of number and factor.
constexpr std::int64_t kHashFactor = 0x1e3779b97f4a7c15;

at::ScalarType integer_type_of_size(std::int64_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return at::kByte;
    case 2:
      return at::kShort;
    case 4:
      return at::kInt;
    default:
      return at::kLong;
  }
}

// Multiplies each number by a factor that depends on its position, and sums the products and their squares,
// so that changes of two numbers rarely cancel each other. The bits of the weights are summed as whole
// numbers, because such a sum is the same in any order, and an accelerator may add in any order.
at::Tensor sum_on_device(const at::Tensor& tensor) {
  const c10::AutoGradMode no_grad(false);
  const at::Tensor numbers =
      tensor.detach().contiguous().view({-1}).view(integer_type_of_size(tensor.element_size()));
  at::Tensor sum = at::zeros({}, numbers.options().dtype(at::kLong));
  for (std::int64_t from = 0; from < numbers.numel(); from += kElementsPerChunk) {
    const std::int64_t count = std::min(kElementsPerChunk, numbers.numel() - from);
    at::Tensor terms = at::arange(2 * from + 1, 2 * (from + count) + 1, 2, sum.options());
    terms.mul_(kHashFactor);
    // add() makes a tensor of its own: to() may return a view of the weights, which must not change.
    terms.mul_(numbers.narrow(0, from, count).to(at::kLong).add(1));
    sum.add_(terms.sum()).add_(terms.mul_(terms).sum());
  }
  return sum;
}

std::uint64_t sum_on_cpu(const std::string& name, const at::Tensor& tensor) {
  const auto bytes = bytes_of_copy(name, tensor);
  if (!bytes) {
    throw Failure(static_cast<int>(ExitCode::kConfiguration),
                  "the weights cannot be compared: " + bytes.error().message());
  }
  return xxh3_64(bytes->bytes);
}

template <class T>
void add_value_bytes(Xxh3Stream& stream, const T& value) {
  stream.update(std::as_bytes(std::span(&value, 1)));
}

// Computes the fingerprint of a tensor from the sum of its values, its device kind, its type and its shape.
std::uint64_t tensor_fingerprint(const at::Tensor& tensor, std::uint64_t numbers) {
  Xxh3Stream stream;
  add_value_bytes(stream, numbers);
  add_value_bytes(stream, tensor.device().type());
  add_value_bytes(stream, tensor.scalar_type());
  for (const std::int64_t size : tensor.sizes()) add_value_bytes(stream, size);
  return stream.digest64();
}

// Copies the sums of all tensors to the host memory, with one copy operation for each device.
void add_sums_on_devices(const std::vector<at::Tensor>& tensors, std::vector<std::uint64_t>& sums) {
  std::map<c10::DeviceIndex, std::vector<std::size_t>> of_devices;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!tensors[i].is_cpu()) of_devices[tensors[i].device().index()].push_back(i);
  for (const auto& [device, indices] : of_devices) {
    std::vector<at::Tensor> there;
    for (const std::size_t i : indices) there.push_back(sum_on_device(tensors[i]));
    const at::Tensor here = at::stack(there).cpu();
    for (std::size_t k = 0; k < indices.size(); ++k)
      sums[indices[k]] = static_cast<std::uint64_t>(here.const_data_ptr<std::int64_t>()[k]);
  }
}

void check_is_trained(const at::Tensor& tensor, const std::string& name) {
  if (tensor.defined() && tensor.is_leaf()) return;
  throw Failure(static_cast<int>(ExitCode::kConfiguration),
                name + " of the list that average_gradients() was given " +
                    (tensor.defined() ? "is the result of an operation" : "is undefined") +
                    ": pass the tensors that the optimizer trains");
}

}  // namespace

NamedWeights trained_weights(const ::torch::nn::Module& module) {
  NamedWeights weights;
  for (const auto& item : module.named_parameters())
    if (item.value().requires_grad()) weights.emplace_back(item.key(), item.value());
  return weights;
}

std::vector<NamedWeights> trained_weights(
    std::span<const std::reference_wrapper<::torch::nn::Module>> modules,
    const std::vector<at::Tensor>& tensors) {
  std::vector<NamedWeights> all(modules.size() + 1);
  std::set<const at::TensorImpl*> known;
  const auto is_new = [&](const at::Tensor& tensor) {
    return known.insert(tensor.unsafeGetTensorImpl()).second;
  };
  for (std::size_t i = 0; i < modules.size(); ++i)
    for (const auto& [name, tensor] : trained_weights(modules[i].get()))
      if (is_new(tensor)) all[i].emplace_back(std::to_string(i) + "." + name, tensor);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = "tensor " + std::to_string(i);
    check_is_trained(tensors[i], name);
    if (tensors[i].requires_grad() && is_new(tensors[i])) all.back().emplace_back(name, tensors[i]);
  }
  return all;
}

WeightsFingerprint fingerprint_weights(const NamedWeights& weights) {
  WeightsFingerprint mark;
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : weights) {
    mark.names.push_back(name);
    tensors.push_back(tensor);
  }
  mark.sums.resize(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].is_cpu()) mark.sums[i] = sum_on_cpu(mark.names[i], tensors[i]);
  add_sums_on_devices(tensors, mark.sums);
  Xxh3Stream all;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    mark.sums[i] = tensor_fingerprint(tensors[i], mark.sums[i]);
    add_value_bytes(all, mark.names[i].size());
    all.update(std::as_bytes(std::span(mark.names[i])));
    add_value_bytes(all, mark.sums[i]);
  }
  mark.whole = to_hex(all.digest128());
  return mark;
}

}  // namespace ratoon
