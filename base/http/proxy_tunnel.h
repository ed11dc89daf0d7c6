// Connects to a server through a proxy, with the method CONNECT of HTTP or with SOCKS5. When the connection
// is made, the caller exchanges bytes with the server itself.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/unique_fd.h"
#include "base/http/client/connect.h"
#include "base/http/url.h"

namespace ratoon::http {

enum class ProxyProtocol { kHttp, kSocks5 };

struct Proxy {
  ProxyProtocol protocol = ProxyProtocol::kHttp;
  Url url;           // without user and password
  std::string user;  // empty: the proxy needs no credentials
  std::string password;
};

// Parses http://[user:password@]host[:port] or socks5://[user:password@]host[:port]. The characters of user
// and password may be escaped as in every URL. An error never shows user or password.
[[nodiscard]] Result<Proxy> parse_proxy(std::string_view text);

// Connects to the server through the proxy, within a deadline. The proxy looks up the name of the server.
[[nodiscard]] Result<UniqueFd> connect_through(const Proxy& proxy, const Url& server, Duration within,
                                               const std::stop_token& stop, ResolveName resolve);

}  // namespace ratoon::http
