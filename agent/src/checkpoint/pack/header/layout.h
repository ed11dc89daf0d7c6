// The layout of a pack of format 2. The layout is known before the first byte is copied.
//
// A pack is one safetensors file: eight bytes of length, a JSON header padded with spaces, then the
// data without holes. The tensors are in the order of the safetensors library.
// docs/reference/checkpoint.md specifies every byte.
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

// Data is verified block by block, so reading a slice means reading whole blocks. In a world of another size
// a rank reads two partial blocks of each tensor: blocks of 64 KiB add 1 to 5 % to its bytes, and blocks of 4
// MiB would double its bytes. The checksums of consecutive blocks can be combined (crc32c_combine).
inline constexpr std::uint64_t kPackBlockBytes = 32 * 1024;
inline constexpr std::uint64_t kDataAlignment = 4096;
inline constexpr std::uint64_t kLengthBytes = 8;
inline constexpr std::uint64_t kHeaderJsonBytesMax = 100'000'000;  // other readers refuse more
inline constexpr std::uint64_t kHeaderBytesMax = kLengthBytes + kHeaderJsonBytesMax;

struct TensorSpec {
  std::string name;
  ElementType type = ElementType::kUint8;
  TensorShape shape{};
  std::optional<TensorBox> box{};  // none: the whole tensor
};

struct PackedTensor {
  std::string name;
  ElementType type = ElementType::kUint8;
  TensorShape shape;
  std::optional<TensorBox> box;
  std::uint64_t begin = 0;  // in the data, which begins at header_bytes of the file
  std::uint64_t end = 0;

  friend bool operator==(const PackedTensor&, const PackedTensor&) = default;
};

struct PackLayout {
  std::vector<PackedTensor> tensors;  // in the order of their data
  std::uint64_t header_bytes = 0;     // with the eight bytes of length; data begins here
  std::uint64_t data_bytes = 0;
  std::string owner{};  // identity of the job that wrote it; empty: unknown

  [[nodiscard]] std::uint64_t file_bytes() const { return header_bytes + data_bytes; }
  [[nodiscard]] std::uint64_t block_count() const {
    return data_bytes / kPackBlockBytes + (data_bytes % kPackBlockBytes != 0 ? 1 : 0);
  }

  friend bool operator==(const PackLayout&, const PackLayout&) = default;
};

// Returns the indices of `specs` in the order of their data in the pack: plan_pack(specs).tensors[i] is
// specs[data_order(specs)[i]].
[[nodiscard]] std::vector<std::size_t> data_order(std::span<const TensorSpec> specs);

// Refuses two tensors of one name, names that JSON cannot hold, shapes that overflow, boxes that do not hold
// their shape, and headers that are too long for other readers. `owner` is the identity of the job that
// writes the pack; empty: the pack does not record it.
[[nodiscard]] Result<PackLayout> plan_pack(std::span<const TensorSpec> specs, std::string_view owner = {});

}  // namespace ratoon::checkpoint
