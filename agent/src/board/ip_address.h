// A socket's address from a numeric one. Names are not resolved, in neither direction: a resolver that does
// not answer, as the cluster's may when a node is lost, takes seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/socket.h>

namespace ratoon::board {

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  [[nodiscard]] std::uint16_t port() const;
  // Bytes that tell peers apart: all of an IPv4 address, also of one that is mapped, and the /64 of an IPv6
  // one, of which a machine may have any address.
  [[nodiscard]] std::string network() const;
};

// Of IPv4 or IPv6, the latter without brackets; nothing for anything else.
[[nodiscard]] std::optional<SocketAddress> read_ip(const std::string& text, std::uint16_t port);

}  // namespace ratoon::board
