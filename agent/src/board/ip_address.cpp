#include "agent/src/board/ip_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

namespace ratoon::board {

std::uint16_t SocketAddress::port() const {
  return ntohs(bytes.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bytes)->sin6_port
                                           : reinterpret_cast<const sockaddr_in*>(&bytes)->sin_port);
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
