// Makes TCP connections within a deadline. A stop request ends a connection attempt at once.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <sys/socket.h>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/unique_fd.h"
#include "base/http/url.h"

namespace ratoon::http {

struct ServerAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

// Receives a server's addresses, or the reason why the lookup found none. Any thread may call a ResolvedName.
using ResolvedName = std::function<void(std::vector<ServerAddress> addresses, std::string problem)>;
// Looks up the host and port of `url`, and calls `resolved` once, before this function returns or later.
using ResolveName = void (*)(const Url& url, ResolvedName resolved);

// Returns a non-blocking socket that is connected to one of the addresses of `url.host`. If `within` is zero,
// the time has no limit. If `url.host` is an IP address, `resolve` is not called.
[[nodiscard]] Result<UniqueFd> connect_to(const Url& url, Duration within, const std::stop_token& stop,
                                          ResolveName resolve);

}  // namespace ratoon::http
