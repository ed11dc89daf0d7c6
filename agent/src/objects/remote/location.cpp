#include "agent/src/objects/remote/location.h"

#include <algorithm>

namespace ratoon::objects {

std::optional<std::string> resolve_redirect(std::string_view url, std::string_view location) {
  location = location.substr(0, location.find('#'));
  if (location.empty()) return std::nullopt;
  const std::size_t scheme_end = url.find("://") + 3;
  const std::string_view scheme = url.substr(0, scheme_end);
  const std::size_t path = std::min(url.find_first_of("/?", scheme_end), url.size());
  std::string target;
  if (location.starts_with("http://") || location.starts_with("https://")) {
    target = location;
  } else if (location.starts_with("//")) {
    target = std::string(scheme) + std::string(location.substr(2));
  } else if (location.starts_with('/')) {
    target = std::string(url.substr(0, path)) + std::string(location);
  } else if (location.substr(0, location.find_first_of("/?")).find(':') != std::string_view::npos) {
    return std::nullopt;  // ftp:, data:
  } else {
    const std::string_view plain = url.substr(0, url.find('?'));
    const std::size_t last = plain.rfind('/');
    const bool has_path = last != std::string_view::npos && last >= scheme_end;
    target = std::string(has_path ? plain.substr(0, last) : plain) + '/' + std::string(location);
  }
  if (scheme == "https://" && !target.starts_with("https://")) return std::nullopt;
  return target;
}

std::string url_without_query(std::string_view url) {
  return std::string(url.substr(0, url.find('?')));
}

}  // namespace ratoon::objects
