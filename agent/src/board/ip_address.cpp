#include "agent/src/board/ip_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

namespace ratoon::board {

std::uint16_t SocketAddress::port() const {
  return ntohs(bytes.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bytes)->sin6_port
                                           : reinterpret_cast<const sockaddr_in*>(&bytes)->sin_port);
}

std::string SocketAddress::network() const {
  constexpr std::size_t kNetworkBytes = 8;
  constexpr std::size_t kMappedAt = 12;
  if (bytes.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in*>(&bytes)->sin_addr;
    return {reinterpret_cast<const char*>(&v4), sizeof v4};
  }
  if (bytes.ss_family != AF_INET6) return "";
  const auto& v6 = reinterpret_cast<const sockaddr_in6*>(&bytes)->sin6_addr;
  const auto* const text = reinterpret_cast<const char*>(&v6);
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return {text + kMappedAt, sizeof v6 - kMappedAt};
  return {text, kNetworkBytes};
}

std::optional<SocketAddress> read_ip(const std::string& text, std::uint16_t port) {
  SocketAddress address;
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address.bytes);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address.bytes);
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    address.size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    address.size = sizeof *v6;
  } else {
    return std::nullopt;
  }
  return address;
}

}  // namespace ratoon::board
