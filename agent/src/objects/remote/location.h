// Finds the target of an HTTP redirection. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ratoon::objects {

// Returns the absolute URL for the value of a Location header in the reply to a request for `url`. Returns
// nothing if the redirection must not be followed because it leads to a scheme other than http and https, or
// from https to http.
[[nodiscard]] std::optional<std::string> resolve_redirect(std::string_view url, std::string_view location);

// Returns the URL without its query, which may contain a secret.
[[nodiscard]] std::string url_without_query(std::string_view url);

}  // namespace ratoon::objects
