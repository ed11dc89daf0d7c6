#include "base/http/url.h"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>

#include "base/http/syntax.h"

namespace ratoon::http {
namespace {

// The error shows neither the URL's query nor the text before an '@', because both may hold a secret.
Error invalid_url_error(std::string_view text, std::string_view problem) {
  std::string_view shown = text.substr(0, text.find('?'));
  if (shown.find('@') != std::string_view::npos) shown = shown.substr(0, shown.find("//"));
  return {ErrorKind::kInvalid, "the URL '" + std::string(shown) + "' " + std::string(problem) +
                                   "; expected http://host:port/path or https://host:port/path, escaped"};
}

bool is_url_character(char c) {
  return c > 0x20 && c < 0x7f;
}

struct Authority {
  std::string_view host;
  std::string_view port;
  bool is_bracketed = false;
};

// Splits "host", "host:80", "[::1]" or "[::1]:80" into host and port.
Authority split_authority(std::string_view text) {
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return {};
    const auto rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') return {};
    return {text.substr(1, end - 1), rest.empty() ? rest : rest.substr(1), true};
  }
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return {text, {}, false};
  return {text.substr(0, colon), text.substr(colon + 1), false};
}

bool is_host(const Authority& authority) {
  if (authority.host.empty()) return false;
  if (authority.is_bracketed) return is_ip_address(std::string(authority.host));
  return std::all_of(authority.host.begin(), authority.host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

}  // namespace

bool is_ip_address(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 || inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

Result<Url> parse_url(std::string_view text) {
  if (!std::all_of(text.begin(), text.end(), is_url_character)) {
    return invalid_url_error(text.substr(0, text.find_first_of("\r\n \t")),
                             "has a character that must be escaped");
  }
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
    url.is_https = true;
  } else {
    return invalid_url_error(text, "has another scheme than http or https");
  }
  if (rest.find('#') != std::string_view::npos) return invalid_url_error(text, "has a fragment");

  const auto authority_end = std::min(rest.find_first_of("/?"), rest.size());
  const Authority authority = split_authority(rest.substr(0, authority_end));
  if (!is_host(authority)) return invalid_url_error(text, "does not name a host");
  url.host = authority.host;
  url.port = url.is_https ? 443 : 80;
  if (!authority.port.empty()) {
    const char* end = authority.port.data() + authority.port.size();
    const auto [stopped, error] = std::from_chars(authority.port.data(), end, url.port);
    if (error != std::errc() || stopped != end || url.port == 0 || !is_digits(authority.port)) {
      return invalid_url_error(text, "has a port that is not a number from 1 to 65535");
    }
  }
  url.host_header = rest.substr(0, authority_end);
  url.target = rest.substr(authority_end);
  if (url.target.empty() || url.target.front() == '?') url.target.insert(0, "/");
  url.shown = std::string(url.is_https ? "https://" : "http://") + url.host_header +
              url.target.substr(0, url.target.find('?'));
  return url;
}

}  // namespace ratoon::http
