#include "agent/src/torch/tensor_archive.h"

#include <cstring>
#include <limits>
#include <vector>

#include <ATen/ops/empty.h>

#include <ratoon/torch/tensor_bytes.h>

#include "base/contract/fields.h"

namespace ratoon {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kHeaderBytesMax = 100'000'000;  // safetensors' own bound
constexpr int kDepthMax = 4;
constexpr const char* kMetadata = "__metadata__";
constexpr std::size_t kDimensionsMax = 64;
constexpr std::uint64_t kBytesMax = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kAlignment = 8;

Error corrupted(const std::string& why) {
  return Error(ErrorKind::kCorrupted, "the saved tensors cannot be read: " + why);
}

// Checks all that can be wrong before any memory is asked for.
Result<at::Tensor> read_tensor(const std::string& name, Fields f, std::string_view data) {
  std::vector<std::int64_t> shape;
  std::uint64_t elements = 1;
  bool is_sound = true;
  for (const json& size : f.list("shape", kDimensionsMax)) {
    is_sound = is_sound && size.is_number_unsigned() && size.get<std::uint64_t>() <= kBytesMax;
    if (!is_sound) break;
    shape.push_back(size.get<std::int64_t>());
    is_sound = !__builtin_mul_overflow(elements, size.get<std::uint64_t>(), &elements);
  }
  const json& range = f.list("data_offsets", 2);
  is_sound = is_sound && range.size() == 2 && range[0].is_number_unsigned() && range[1].is_number_unsigned();
  const auto type = element_type_of(f.text("dtype", 16));
  if (!type) return type.error().with_context("tensor \"" + name + "\"");
  if (!is_sound) return corrupted("the shape or the place of \"" + name + "\" is no list of numbers");
  const std::uint64_t begin = range[0].get<std::uint64_t>();
  const std::uint64_t end = range[1].get<std::uint64_t>();
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(elements, c10::elementSize(*type), &bytes) || end > data.size() || begin > end ||
      end - begin != bytes) {
    return corrupted("\"" + name + "\" is not where its header says, or has another size");
  }
  at::Tensor tensor = at::empty(shape, at::TensorOptions(*type));
  if (bytes != 0) std::memcpy(tensor.mutable_data_ptr(), data.data() + begin, bytes);
  return tensor;
}

}  // namespace

std::string describe(const at::Tensor& tensor) {
  const auto dtype = safetensors_dtype(tensor.scalar_type());
  std::string text = dtype ? std::string(*dtype) : c10::toString(tensor.scalar_type());
  text += " [";
  for (std::int64_t i = 0; i < tensor.dim(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(tensor.size(i));
  return text + "]";
}

Result<std::string> encode_archive(const TensorArchive& archive) {
  json header = {{kMetadata, {{"kind", archive.kind}}}};
  std::vector<TensorBytes> parts;
  std::uint64_t total = 0;
  for (const auto& [name, tensor] : archive.tensors) {
    auto part = bytes_of_copy(name, tensor);
    if (!part) return part.error();
    header[name] = {{"dtype", part->dtype},
                    {"shape", part->shape},
                    {"data_offsets", {total, total + part->bytes.size()}}};
    total += part->bytes.size();
    parts.push_back(std::move(*part));
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const std::uint64_t length = text.size();
  std::string out;
  out.reserve(kLengthBytes + text.size() + total);
  out.append(reinterpret_cast<const char*>(&length), kLengthBytes);
  out += text;
  for (const TensorBytes& part : parts)
    out.append(reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size());
  return out;
}

Result<TensorArchive> decode_archive(std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < kLengthBytes) return corrupted("they are too short");
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > bytes.size() - kLengthBytes) return corrupted("their header is cut off");
  const auto header = parse_json(bytes.substr(kLengthBytes, length), kHeaderBytesMax, kDepthMax);
  if (!header) return corrupted(header.error().message());
  if (!header->is_object()) return corrupted("their header is no JSON object");
  const std::string_view data = bytes.substr(kLengthBytes + length);
  TensorArchive archive;
  std::optional<Error> complaint;
  for (const auto& [name, value] : header->items()) {
    Fields f(value, name, complaint);
    if (name == kMetadata) {
      archive.kind = f.text("kind", 64);
      continue;
    }
    auto tensor = read_tensor(name, f, data);
    if (complaint) return corrupted(complaint->message());
    if (!tensor) return tensor.error();
    archive.tensors.emplace(name, std::move(*tensor));
  }
  if (complaint) return corrupted(complaint->message());
  return archive;
}

}  // namespace ratoon
