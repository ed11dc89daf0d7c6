#include <algorithm>
#include <cstdint>
#include <exception>
#include <vector>

#include <torch/nn/module.h>

#include <ratoon/torch/digest.h>
#include <ratoon/torch/tensor_bytes.h>

#include "base/core/xxh3.h"

namespace ratoon {
namespace {

// The length of each part is hashed before the part, so that different lists of tensors never give the same
// bytes to the hash.
class DigestStream {
 public:
  void number(std::uint64_t value) { stream_.update(std::as_bytes(std::span(&value, 1))); }
  void bytes(std::span<const std::byte> data) {
    number(data.size());
    stream_.update(data);
  }
  void text(std::string_view data) { bytes(std::as_bytes(std::span(data))); }

  [[nodiscard]] std::string digest() const { return to_hex(stream_.digest128()); }

 private:
  Xxh3Stream stream_;
};

}  // namespace

Result<std::string> digest(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> ordered;
  for (const auto& named : tensors) ordered.push_back(&named);
  std::ranges::sort(ordered, {}, &NamedTensor::name);
  const auto twin = std::ranges::adjacent_find(ordered, {}, &NamedTensor::name);
  if (twin != ordered.end()) {
    return Error(ErrorKind::kInvalid,
                 "two tensors are named \"" + (*twin)->name + "\"; a digest needs one name for each tensor");
  }

  DigestStream feed;
  feed.number(ordered.size());
  for (const auto* named : ordered) {
    // Only one tensor at a time is copied to the host, so the host needs memory only for the largest tensor
    // of a model on a GPU.
    const auto tensor = bytes_of_copy(named->name, named->tensor);
    if (!tensor) return tensor.error().with_context("digest");
    feed.text(tensor->name);
    feed.text(tensor->dtype);
    feed.number(tensor->shape.size());
    for (const std::int64_t size : tensor->shape) feed.number(static_cast<std::uint64_t>(size));
    feed.bytes(tensor->bytes);
  }
  return feed.digest();
}

Result<std::string> digest(const ::torch::nn::Module& module) {
  std::vector<NamedTensor> tensors;
  try {
    // The prefixes make the names distinct, because a parameter and a buffer of a module may have the same
    // name.
    for (const auto& item : module.named_parameters())
      tensors.push_back({"parameter " + item.key(), item.value()});
    for (const auto& item : module.named_buffers()) tensors.push_back({"buffer " + item.key(), item.value()});
  } catch (const c10::Error& error) {
    return Error(ErrorKind::kInvalid,
                 std::string("listing a module's tensors: ") + error.what_without_backtrace());
  }
  return digest(std::span<const NamedTensor>(tensors));
}

}  // namespace ratoon
