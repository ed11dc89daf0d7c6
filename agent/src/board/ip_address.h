// Converts a numeric address to a socket's address. Names are never resolved, neither to addresses nor from
// them: if a node is lost, the cluster's resolver may not answer for seconds.
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
  // The bytes that identify a peer's network: the whole IPv4 address, also if it is mapped into IPv6, or the
  // /64 prefix of an IPv6 address, because a machine may use any address under its prefix.
  [[nodiscard]] std::string network() const;
};

// Reads an IPv4 or IPv6 address, the latter without brackets; returns nothing for other text.
[[nodiscard]] std::optional<SocketAddress> read_ip(const std::string& text, std::uint16_t port);

}  // namespace ratoon::board
