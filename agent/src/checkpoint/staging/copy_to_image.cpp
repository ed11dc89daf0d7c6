#include "agent/src/checkpoint/staging/copy_to_image.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "agent/src/checkpoint/pack/header/header.h"
#include "agent/src/checkpoint/staging/streaming_copy.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::size_t kPieceBytes = 8 << 20;  // progress is reported after each
constexpr std::uint64_t kSampleBytes = 256;
constexpr std::uint64_t kSamplesPerTensor = 8;

std::string header_without_checksums(const PackLayout& layout) {
  const std::vector<std::uint32_t> crcs(layout.block_count(), 0);
  const std::vector<Hash128> hashes(layout.tensors.size());
  return encode_header(layout, crcs, hashes);
}

bool is_sample_equal(std::span<const std::byte> a, std::span<const std::byte> b, std::uint64_t at) {
  const std::uint64_t length = std::min<std::uint64_t>(kSampleBytes, a.size() - at);
  return std::memcmp(a.data() + at, b.data() + at, length) == 0;
}

bool is_same(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.size() <= kSampleBytes * kSamplesPerTensor) return std::ranges::equal(a, b);
  const std::uint64_t last = a.size() - kSampleBytes;
  for (std::uint64_t i = 0; i < kSamplesPerTensor; ++i) {
    if (!is_sample_equal(a, b, last / (kSamplesPerTensor - 1) * i)) return false;
  }
  return is_sample_equal(a, b, last);
}

}  // namespace

void copy_to_image(const PackImageLayout& plan, std::span<const TensorView> tensors, std::span<std::byte> to,
                   CopyProgress& filling) {
  const std::string header = header_without_checksums(plan.layout);
  std::memcpy(to.data(), header.data(), header.size());
  std::uint64_t at = plan.layout.header_bytes;
  for (const std::size_t number : plan.order) {
    for (auto bytes = tensors[number].bytes; !bytes.empty();) {
      const auto piece = bytes.first(std::min(kPieceBytes, bytes.size()));
      copy_streaming(piece, to.data() + at);
      at += piece.size();
      bytes = bytes.subspan(piece.size());
      filling.advance_to(at);
    }
  }
}

std::optional<std::string> find_changed(const PackImageLayout& plan, std::span<const TensorView> tensors,
                                        std::span<const std::byte> image) {
  const auto data = image.subspan(plan.layout.header_bytes);
  for (std::size_t i = 0; i < plan.order.size(); ++i) {
    const TensorView& tensor = tensors[plan.order[i]];
    if (!is_same(tensor.bytes, data.subspan(plan.layout.tensors[i].begin, tensor.bytes.size())))
      return tensor.name;
  }
  return std::nullopt;
}

void copy_rows(const PartsOfSave& parts, std::span<std::byte> to, PartsOfSave& copied) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts.to_write.size(); ++i) {
    const auto rows = parts.to_write[i].rows.bytes;
    copy_streaming(rows, to.data() + at);
    copied.to_write[i].rows.bytes = to.subspan(at, rows.size());
    at += rows.size();
  }
}

std::optional<std::string> find_changed_rows(const PartsOfSave& parts, const PartsOfSave& copied) {
  for (std::size_t i = 0; i < parts.to_write.size(); ++i)
    if (!is_same(parts.to_write[i].rows.bytes, copied.to_write[i].rows.bytes))
      return parts.tensors[parts.to_write[i].places.front().first].name;
  return std::nullopt;
}

Result<PackLayout> read_layout(std::span<const std::byte> image, std::uint64_t file_bytes) {
  const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  if (image.size() < file_bytes || file_bytes < kHeaderLengthBytes)
    return Error(ErrorKind::kCorrupted, "staged memory is shorter than the pack that it should hold");
  const auto header_bytes = header_bytes_of(text.substr(0, kHeaderLengthBytes), file_bytes);
  if (!header_bytes) return header_bytes.error();
  auto header = decode_header(text.substr(0, *header_bytes), file_bytes);
  if (!header) return header.error();
  return std::move(header->layout);
}

}  // namespace ratoon::checkpoint
