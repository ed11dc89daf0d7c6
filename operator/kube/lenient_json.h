// Reads JSON objects that other programs wrote. A field that is missing or has another type counts as empty.
// No function throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ratoon::kube {

// Returns the object's member with this name, or JSON null.
[[nodiscard]] const nlohmann::json& child(const nlohmann::json& value, const char* name);
// Returns the member if it is a list; otherwise an empty list.
[[nodiscard]] const nlohmann::json& items_of(const nlohmann::json& value, const char* name);
[[nodiscard]] std::string string_field(const nlohmann::json& value, const char* name);
[[nodiscard]] std::optional<std::int64_t> int_field(const nlohmann::json& value, const char* name);
[[nodiscard]] bool bool_field(const nlohmann::json& value, const char* name);

// Returns the member, and makes it an empty list if it is missing or has another type.
[[nodiscard]] nlohmann::json& ensure_list(nlohmann::json& object, const char* name);

// Parses a whole number; accepts nothing but decimal digits.
[[nodiscard]] std::optional<std::uint64_t> parse_unsigned(std::string_view text);

// Writes JSON text. Never throws: bytes that are not UTF-8 become replacement characters.
[[nodiscard]] std::string dump(const nlohmann::json& value);

}  // namespace ratoon::kube
