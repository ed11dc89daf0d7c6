// Small files that say themselves whether they are whole: JSON, and a last line with the CRC32C of everything
// before it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/contract/fields.h"

namespace ratoon::checkpoint {

[[nodiscard]] std::string seal(const nlohmann::json& body);

// The JSON, if the line is right; else kCorrupted, or kIo where the text is a web page: that says nothing of
// the file.
[[nodiscard]] Result<nlohmann::json> unseal(std::string_view text, std::size_t bytes_max);

}  // namespace ratoon::checkpoint
