// Returns the JSON of a pack's header as the safetensors library writes it: without spaces, first the
// metadata and then the tensors in the order of their data. The metadata is sorted by key, so that equal
// packs have equal bytes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "agent/src/checkpoint/pack/header/layout.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {

inline constexpr std::string_view kMetadataKey = "__metadata__";
inline constexpr std::string_view kRatoonKeyPrefix = "ratoon.";
inline constexpr std::string_view kBoxKey = "ratoon.box.";  // followed by the tensor's name
inline constexpr std::string_view kBlocksKey = "ratoon.crc32c";
inline constexpr std::string_view kFormatKey = "ratoon.format";
inline constexpr std::string_view kOwnerKey = "ratoon.owner";  // absent: unknown
inline constexpr std::string_view kHashesKey = "ratoon.xxh3";
inline constexpr std::string_view kPackFormat = "2";
inline constexpr std::size_t kCrcDigits = 8;
inline constexpr std::size_t kHashDigits = 32;

// Adds no padding. The JSON's length depends only on the layout's tensors and sizes, not on the digests.
[[nodiscard]] std::string header_json(const PackLayout& layout, std::span<const std::uint32_t> block_crcs,
                                      std::span<const Hash128> hashes);

// Encodes the header of a safetensors file for other programs, which has no checksums. `metadata` holds the
// texts for the key "__metadata__"; if it is empty, the header does not have this key.
[[nodiscard]] std::string plain_header_json(const PackLayout& layout,
                                            const std::map<std::string, std::string>& metadata);

[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace ratoon::checkpoint
