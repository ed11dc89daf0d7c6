// Where a redirection leads. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ratoon::objects {

// The absolute URL that a Location header means, seen from `url`; nothing where that is no place for us:
// another scheme than http(s), or http after https.
[[nodiscard]] std::optional<std::string> follow_location(std::string_view url, std::string_view location);

// Without the query, which may hold a secret.
[[nodiscard]] std::string shown_url(std::string_view url);

}  // namespace ratoon::objects
