// Small JSON files that show whether they are whole: the last line holds the CRC32C of everything before it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/contract/fields.h"

namespace ratoon::checkpoint {

[[nodiscard]] std::string seal(const nlohmann::json& body);

// Returns the JSON if the checksum line is right, else kCorrupted. Returns kIo for a web page, which tells
// nothing about the file.
[[nodiscard]] Result<nlohmann::json> unseal(std::string_view text, std::size_t bytes_max);

}  // namespace ratoon::checkpoint
