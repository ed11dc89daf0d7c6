// Parses an absolute URL into the parts that a connection and an HTTP request line need.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::http {

struct Url {
  bool is_https = false;
  std::string host;  // without the brackets of an IPv6 address
  std::uint16_t port = 0;
  std::string target;  // path and query, as the caller escaped them
  std::string host_header;
  std::string shown;  // for messages: without the query, which may hold a secret
};

[[nodiscard]] Result<Url> parse_url(std::string_view text);

[[nodiscard]] bool is_ip_address(const std::string& host);

}  // namespace ratoon::http
