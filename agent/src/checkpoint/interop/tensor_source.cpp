#include "agent/src/checkpoint/interop/tensor_source.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "agent/src/checkpoint/interop/quoted.h"
#include "base/core/utf8.h"

namespace ratoon::checkpoint {

Result<TensorSource> source_of(const TensorView& view) {
  const auto size_bytes = size_bytes_of(view.type, view.shape);
  if (!size_bytes) return size_bytes.error().with_context("tensor " + quoted(view.name));
  if (view.box)
    return Error(
        ErrorKind::kInvalid,
        "tensor " + quoted(view.name) +
            " is a part of a tensor, but files for other programs need whole tensors; pass the whole tensor");
  if (*size_bytes != view.bytes.size())
    return Error(ErrorKind::kInvalid,
                 "tensor " + quoted(view.name) + " has " + std::to_string(view.bytes.size()) +
                     " bytes where its type and shape say " + std::to_string(*size_bytes));
  return TensorSource{.name = view.name,
                      .type = view.type,
                      .shape = view.shape,
                      .write = [bytes = view.bytes](ByteSink& sink) { return sink.append(bytes); }};
}

Result<std::uint64_t> size_bytes_of(ElementType type, const TensorShape& shape) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 62;
  bool is_empty = false;
  std::uint64_t size_bytes = size_of(type);
  for (const std::uint64_t length : shape) {
    is_empty = is_empty || length == 0;
    if (length > kMax / size_bytes)
      return Error(ErrorKind::kInvalid,
                   "the shape overflows: its lengths other than 0 give more than 2^62 bytes");
    size_bytes *= std::max<std::uint64_t>(length, 1);
  }
  return is_empty ? 0 : size_bytes;
}

Result<void> check_names(std::span<const TensorSource> tensors) {
  std::set<std::string_view> names;
  for (const TensorSource& tensor : tensors) {
    if (!ratoon::is_utf8(std::as_bytes(std::span(tensor.name))))
      return Error(ErrorKind::kInvalid, "the name of tensor " + quoted(tensor.name) + " is not UTF-8");
    if (!names.insert(tensor.name).second)
      return Error(ErrorKind::kInvalid, "there are two tensors of the name " + quoted(tensor.name));
  }
  return {};
}

}  // namespace ratoon::checkpoint
