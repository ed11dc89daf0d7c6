// checkpoint/pack/header/: The header and layout of a pack. Pure.
//
// The header of a pack, encoded when the data is known. The decoder does not trust a header's contents.
//
// Before you decode a header, compare the XXH3-128 of the pack's first header_bytes bytes with the manifest.
// If the digests match, the header has valid checksums of all data.
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

// Reads the size of a file's header from at least eight first bytes. The result is at most `file_bytes`.
[[nodiscard]] Result<std::uint64_t> header_bytes_of(std::string_view first_bytes, std::uint64_t file_bytes);

// `header` is the first header_bytes_of() bytes of a file of `file_bytes`. Checks lengths, ranges, shapes,
// boxes and numbers of digests. An unknown key in the header is an error.
[[nodiscard]] Result<PackHeader> decode_header(std::string_view header, std::uint64_t file_bytes);

// Decodes the header of a safetensors file that any program wrote. Ignores metadata, so no tensor in the
// result has a box, and there are no checksums of the data.
[[nodiscard]] Result<PackLayout> decode_foreign_header(std::string_view header, std::uint64_t file_bytes);

}  // namespace ratoon::checkpoint
