// The layout of a pack file in format 2: the size of its header and the position of each tensor. The layout
// depends only on names, types and shapes, so it is known before the first byte of a tensor is copied.
//
// A pack is one safetensors file: eight bytes with the header's length, a JSON header padded with spaces, and
// then the tensors without gaps. The tensors are in the order of the safetensors library.
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

// The data of a pack is verified in blocks of kPackBlockBytes, so a reader of a slice must read whole blocks.
// If the number of ranks has changed, a rank reads a slice of each tensor, and needs the slice's first and
// last block only in part. Blocks of 64 KiB would add 1 to 5 % to the bytes that the rank reads. Blocks of 4
// MiB would double these bytes. The checksums of consecutive blocks can be combined (crc32c_combine).
inline constexpr std::uint64_t kPackBlockBytes = 32 * 1024;
inline constexpr std::uint64_t kDataAlignment = 4096;
inline constexpr std::uint64_t kHeaderLengthBytes = 8;
inline constexpr std::uint64_t kHeaderJsonBytesMax = 100'000'000;  // other readers refuse more
inline constexpr std::uint64_t kHeaderBytesMax = kHeaderLengthBytes + kHeaderJsonBytesMax;

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

// Returns the order in which the pack stores the tensors, as indices into `specs`:
// plan_pack(specs).tensors[i] is specs[data_order(specs)[i]].
[[nodiscard]] std::vector<std::size_t> data_order(std::span<const TensorSpec> specs);

// Returns the places of the tensors in a file of any header, whose length stays 0. Returns an error for two
// tensors of one name, a name that is not UTF-8, a shape that overflows, or a part that lies outside its
// whole tensor.
[[nodiscard]] Result<PackLayout> place_tensors(std::span<const TensorSpec> specs);

// Returns the layout of a pack, or an error as place_tensors() does, or if the header is too long for other
// readers. `owner` is the identity of the job that writes the pack. If `owner` is empty, the pack contains no
// identity.
[[nodiscard]] Result<PackLayout> plan_pack(std::span<const TensorSpec> specs, std::string_view owner = {});

}  // namespace ratoon::checkpoint
