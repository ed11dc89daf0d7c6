// Where everything in a pack of format 2 lies, known before its first byte is copied.
//
// A pack is one safetensors file: eight bytes of length and a JSON header padded with spaces, then the data
// without holes, tensors in safetensors' own order. docs/reference/checkpoint.md says it byte by byte.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>
#include <ratoon/tensor_view.h>

namespace ratoon::checkpoint {

// Data is verified block by block. Whoever reads a slice reads whole blocks, and a rank of another world size
// has two ragged ends in each tensor: blocks of 64 KiB cost it 1 to 5 % more bytes where blocks of 4 MiB
// would double what it reads. Checksums of blocks that lie in a row combine (crc32c_combine).
inline constexpr std::uint64_t kPackBlockBytes = 32 * 1024;
inline constexpr std::uint64_t kDataAlignment = 4096;
inline constexpr std::uint64_t kLengthBytes = 8;
inline constexpr std::uint64_t kHeaderJsonBytesMax = 100'000'000;  // more is refused by other readers
inline constexpr std::uint64_t kHeaderBytesMax = kLengthBytes + kHeaderJsonBytesMax;

struct TensorSpec {
  std::string name;
  ElementType type = ElementType::kUint8;
  TensorShape shape{};
  std::optional<TensorBox> box{};  // none: it is whole
};

struct PackedTensor {
  std::string name;
  ElementType type = ElementType::kUint8;
  TensorShape shape;
  std::optional<TensorBox> box;
  std::uint64_t begin = 0;  // in the data: the file has it header_bytes later
  std::uint64_t end = 0;

  friend bool operator==(const PackedTensor&, const PackedTensor&) = default;
};

struct PackLayout {
  std::vector<PackedTensor> tensors;  // in the order of their data
  std::uint64_t header_bytes = 0;     // the length's own eight included: data begins here
  std::uint64_t data_bytes = 0;
  std::string owner{};  // identity of the job that wrote it; empty: it does not say

  [[nodiscard]] std::uint64_t file_bytes() const { return header_bytes + data_bytes; }
  [[nodiscard]] std::uint64_t block_count() const {
    return data_bytes / kPackBlockBytes + (data_bytes % kPackBlockBytes != 0 ? 1 : 0);
  }

  friend bool operator==(const PackLayout&, const PackLayout&) = default;
};

// Numbers of the specs in the order of their data: plan_pack(specs).tensors[i] is
// specs[data_order(specs)[i]].
[[nodiscard]] std::vector<std::size_t> data_order(std::span<const TensorSpec> specs);

// Refuses two tensors of one name, names that JSON cannot hold, shapes that overflow, boxes that do not hold
// their shape, and headers that are too long for other readers.
// `owner` is the identity of the job that writes the pack; empty: the pack does not say.
[[nodiscard]] Result<PackLayout> plan_pack(std::span<const TensorSpec> specs, std::string_view owner = {});

}  // namespace ratoon::checkpoint
