// The few rules of HTTP's grammar that both our client and our server must check for themselves.
#pragma once

#include <string_view>

namespace ratoon::http {

[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b);

// A method or a header's name: one or more of the characters RFC 9110 calls tchar.
[[nodiscard]] bool is_token(std::string_view text);

// A header's value: it has no control character but tab, so that a value cannot insert a second line.
[[nodiscard]] bool is_field_value(std::string_view text);

// "close" in "keep-alive, close", regardless of case and spaces.
[[nodiscard]] bool lists_token(std::string_view list, std::string_view token);

[[nodiscard]] bool is_digits(std::string_view text);

}  // namespace ratoon::http
