// checkpoint/pack/header/: Encodes and decodes the header of a pack, and computes the layout of its file. The
// functions are pure.
//
// Encodes the header of a pack after the checksums of the pack's data were computed. The decoder checks every
// field of a header, because the file may be damaged or forged.
//
// Before you decode a header, compare the XXH3-128 of the pack's first header_bytes bytes with the manifest.
// If a header's XXH3-128 equals that in the manifest, the header has valid checksums of all data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/pack/header/layout.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {

struct PackHeader {
  PackLayout layout;
  std::vector<std::uint32_t> block_crcs;  // CRC32C of each kPackBlockBytes of data, the last one shorter
  std::vector<Hash128> hashes;            // XXH3-128 of each tensor, in the order of layout.tensors

  friend bool operator==(const PackHeader&, const PackHeader&) = default;
};

// Returns the first layout.header_bytes bytes of the file. The layout must be a result of plan_pack(). Throws
// std::invalid_argument if the number of checksums or hashes does not match the layout.
[[nodiscard]] std::string encode_header(const PackLayout& layout, std::span<const std::uint32_t> block_crcs,
                                        std::span<const Hash128> hashes);

// Returns the size of a file's header in bytes, from the first eight or more bytes of the file. The returned
// header size is at most `file_bytes`.
[[nodiscard]] Result<std::uint64_t> header_bytes_of(std::string_view first_bytes, std::uint64_t file_bytes);

// `header` holds the first header_bytes_of() bytes of a file that has `file_bytes` bytes. Decodes the header
// of a pack, and checks its lengths, ranges, shapes, boxes and numbers of digests. A header with an unknown
// key is an error.
[[nodiscard]] Result<PackHeader> decode_header(std::string_view header, std::uint64_t file_bytes);

// Decodes the header of a safetensors file that any program wrote. Ignores the file's metadata, so the result
// has no boxes (positions of parts in larger tensors) and no checksums of the data.
[[nodiscard]] Result<PackLayout> decode_foreign_header(std::string_view header, std::uint64_t file_bytes);

}  // namespace ratoon::checkpoint
