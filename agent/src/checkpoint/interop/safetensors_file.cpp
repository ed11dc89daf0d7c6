#include "agent/src/checkpoint/interop/safetensors_file.h"

#include <algorithm>
#include <string_view>

#include "agent/src/checkpoint/interop/little_endian.h"
#include "agent/src/checkpoint/interop/quoted.h"
#include "agent/src/checkpoint/pack/header/header.h"
#include "agent/src/checkpoint/pack/header/header_json.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::size_t kHeaderAlignment = 8;

// A ByteSink for the bytes of one tensor: it refuses bytes after the tensor's last byte.
class BoundedSink final : public ByteSink {
 public:
  BoundedSink(ByteSink& sink, std::uint64_t size_bytes) : sink_(sink), left_bytes_(size_bytes) {}

  Result<void> append(std::span<const std::byte> bytes) override {
    if (bytes.size() > left_bytes_)
      return Error(ErrorKind::kInvalid, "the source writes more bytes than its type and shape say");
    left_bytes_ -= bytes.size();
    return sink_.append(bytes);
  }

  [[nodiscard]] std::uint64_t left_bytes() const { return left_bytes_; }

 private:
  ByteSink& sink_;
  std::uint64_t left_bytes_;
};

Result<std::string> header_of(const PackLayout& layout, const SafetensorsMetadata& metadata) {
  for (const auto& [key, value] : metadata) {
    if (!is_utf8(key) || !is_utf8(value))
      return Error(ErrorKind::kInvalid, "metadata " + quoted(key) + " is not UTF-8");
  }
  std::string json = plain_header_json(layout, metadata);
  json.append((kHeaderAlignment - json.size() % kHeaderAlignment) % kHeaderAlignment, ' ');
  if (json.size() > kHeaderJsonBytesMax)
    return Error(ErrorKind::kInvalid, "the header would have " + std::to_string(json.size()) +
                                          " bytes, and readers take at most 100000000; write several files");
  std::string header;
  put(header, static_cast<std::uint64_t>(json.size()));
  return header + json;
}

Result<void> write_tensor(const TensorSource& tensor, std::uint64_t size_bytes, ByteSink& sink) {
  BoundedSink bounded(sink, size_bytes);
  if (auto written = tensor.write(bounded); !written) return written;
  if (bounded.left_bytes() == 0) return {};
  return Error(ErrorKind::kInvalid, "the source writes " + std::to_string(bounded.left_bytes()) +
                                        " bytes too few: the tensor has " + std::to_string(size_bytes));
}

}  // namespace

Result<void> write_safetensors(std::span<const TensorSource> tensors, ByteSink& sink,
                               const SafetensorsMetadata& metadata) {
  std::vector<TensorSpec> specs;
  for (const TensorSource& tensor : tensors)
    specs.push_back({.name = tensor.name, .type = tensor.type, .shape = tensor.shape});
  const auto layout = place_tensors(specs);
  if (!layout) return layout.error();
  const auto header = header_of(*layout, metadata);
  if (!header) return header.error();
  if (auto appended = sink.append(std::as_bytes(std::span(*header))); !appended) return appended;

  const std::vector<std::size_t> order = data_order(specs);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const TensorSource& tensor = tensors[order[i]];
    const PackedTensor& packed = layout->tensors[i];
    if (auto written = write_tensor(tensor, packed.end - packed.begin, sink); !written)
      return written.error().with_context("writing tensor " + quoted(tensor.name));
  }
  return {};
}

Result<std::vector<TensorView>> read_safetensors(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto header_bytes = header_bytes_of(text.substr(0, kHeaderLengthBytes), file.size());
  if (!header_bytes) return header_bytes.error();
  auto layout = decode_foreign_header(text.substr(0, *header_bytes), file.size());
  if (!layout) return layout.error();
  std::vector<TensorView> views;
  views.reserve(layout->tensors.size());
  for (PackedTensor& tensor : layout->tensors) {
    views.push_back({.name = std::move(tensor.name),
                     .type = tensor.type,
                     .shape = std::move(tensor.shape),
                     .bytes = file.subspan(*header_bytes + tensor.begin, tensor.end - tensor.begin)});
  }
  return views;
}

}  // namespace ratoon::checkpoint
