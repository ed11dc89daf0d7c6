// The few rules of HTTP's grammar that both our client and our server must check for themselves.
#pragma once

#include <string_view>

namespace ratoon::http {

[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b);

// Whether the text can be a method or a header's name: only characters that RFC 9110 calls tchar.
[[nodiscard]] bool is_token(std::string_view text);

// Returns whether the text can be a header's value: it has no control character except tab, so no line break.
[[nodiscard]] bool is_field_value(std::string_view text);

// Whether a list has the token, regardless of case and spaces: "close" in "keep-alive, close".
[[nodiscard]] bool contains_token(std::string_view list, std::string_view token);

[[nodiscard]] bool is_digits(std::string_view text);

}  // namespace ratoon::http
