// Small JSON files whose last line holds the CRC32C of all bytes before it, so that a damaged file is
// detected.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/contract/fields.h"

namespace ratoon::checkpoint {

[[nodiscard]] std::string encode_with_checksum(const nlohmann::json& body);

// Returns the JSON if the checksum in the last line is right, and kCorrupted if it is wrong. Returns kIo for
// a web page, for example of a proxy, because a web page does not show whether the file itself is damaged.
[[nodiscard]] Result<nlohmann::json> decode_with_checksum(std::string_view text, std::size_t bytes_max);

}  // namespace ratoon::checkpoint
