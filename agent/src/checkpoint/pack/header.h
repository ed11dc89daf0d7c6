// The header of a pack: encoded when the bytes are known, decoded without trusting any of it.
//
// Who reads a pack first compares XXH3-128 of its first header_bytes bytes with the manifest; from there on
// the header vouches for every byte of data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/pack/layout.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {

struct PackHeader {
  PackLayout layout;
  std::vector<std::uint32_t> block_crcs;  // CRC32C of each kPackBlockBytes of data, the last one shorter
  std::vector<Hash128> hashes;            // XXH3-128 of each tensor, as layout.tensors

  friend bool operator==(const PackHeader&, const PackHeader&) = default;
};

// The first layout.header_bytes bytes of the file. The layout is from plan_pack; numbers of digests that do
// not fit it are a std::invalid_argument.
[[nodiscard]] std::string encode_header(const PackLayout& layout, std::span<const std::uint32_t> block_crcs,
                                        std::span<const Hash128> hashes);

// How many bytes of the file are its header, from the first eight or more. Never more than the file has.
[[nodiscard]] Result<std::uint64_t> header_bytes_of(std::string_view first_bytes, std::uint64_t file_bytes);

// `header` is the first header_bytes_of() bytes of a file of `file_bytes`. Everything is checked: lengths,
// ranges, shapes, boxes, numbers of digests; a key that is not known is an error.
[[nodiscard]] Result<PackHeader> decode_header(std::string_view header, std::uint64_t file_bytes);

// The same of any safetensors file, whoever wrote it: metadata is not looked at, no tensor has a box, and
// nothing vouches for the data.
[[nodiscard]] Result<PackLayout> decode_foreign_header(std::string_view header, std::uint64_t file_bytes);

}  // namespace ratoon::checkpoint
