// Reading objects that others wrote: what is absent or of another kind reads as empty, and nothing throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ratoon::kube {

// The member, or null.
[[nodiscard]] const nlohmann::json& child(const nlohmann::json& value, const char* name);
// The list's items; nothing to iterate over where it is no list.
[[nodiscard]] const nlohmann::json& items_of(const nlohmann::json& value, const char* name);
[[nodiscard]] std::string text_in(const nlohmann::json& value, const char* name);
[[nodiscard]] std::optional<std::int64_t> whole_in(const nlohmann::json& value, const char* name);
[[nodiscard]] bool flag_in(const nlohmann::json& value, const char* name);

// Decimal digits and nothing else.
[[nodiscard]] std::optional<std::uint64_t> parse_whole(std::string_view text);

// Never throws: bytes that are not UTF-8 become replacement characters.
[[nodiscard]] std::string dump(const nlohmann::json& value);

}  // namespace ratoon::kube
