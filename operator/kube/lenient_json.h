// Reads objects that other programs wrote: a field that is missing or of another type reads as empty, and no
// function throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ratoon::kube {

// Returns the member, or null.
[[nodiscard]] const nlohmann::json& child(const nlohmann::json& value, const char* name);
// Returns the items of a list; for any other value the result is empty.
[[nodiscard]] const nlohmann::json& items_of(const nlohmann::json& value, const char* name);
[[nodiscard]] std::string text_in(const nlohmann::json& value, const char* name);
[[nodiscard]] std::optional<std::int64_t> whole_in(const nlohmann::json& value, const char* name);
[[nodiscard]] bool flag_in(const nlohmann::json& value, const char* name);

// Accepts only decimal digits.
[[nodiscard]] std::optional<std::uint64_t> parse_whole(std::string_view text);

// Never throws: bytes that are not UTF-8 become replacement characters.
[[nodiscard]] std::string dump(const nlohmann::json& value);

}  // namespace ratoon::kube
