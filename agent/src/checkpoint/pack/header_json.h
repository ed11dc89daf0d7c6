// The text of a pack's header, letter by letter as safetensors' own writer puts it: metadata (here sorted by
// key, so that equal packs are equal bytes), then the tensors in the order of their data, no spaces.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "agent/src/checkpoint/pack/layout.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {

inline constexpr std::string_view kMetadataKey = "__metadata__";
inline constexpr std::string_view kOurKeys = "ratoon.";
inline constexpr std::string_view kBoxKey = "ratoon.box.";  // and the tensor's name
inline constexpr std::string_view kBlocksKey = "ratoon.crc32c";
inline constexpr std::string_view kFormatKey = "ratoon.format";
inline constexpr std::string_view kOwnerKey = "ratoon.owner";  // absent: the pack does not say
inline constexpr std::string_view kHashesKey = "ratoon.xxh3";
inline constexpr std::string_view kPackFormat = "2";
inline constexpr std::size_t kCrcDigits = 8;
inline constexpr std::size_t kHashDigits = 32;

// Without padding. Its length depends on the layout's tensors and sizes alone, not on the digests.
[[nodiscard]] std::string header_json(const PackLayout& layout, std::span<const std::uint32_t> block_crcs,
                                      std::span<const Hash128> hashes);

// The same of a file that is no pack: the metadata is the caller's, and without any there is none in the
// text.
[[nodiscard]] std::string plain_header_json(const PackLayout& layout,
                                            const std::map<std::string, std::string>& metadata);

[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace ratoon::checkpoint
