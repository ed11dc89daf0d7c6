// Converts a numeric IP address to the address of a socket. Host names are never resolved, because the
// cluster's DNS server may not answer for seconds after a node is lost.
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
  // Returns the bytes that identify the machine: the IPv4 address, even if it is mapped into IPv6, or the /64
  // prefix of an IPv6 address. A machine may use any IPv6 address with its /64 prefix.
  [[nodiscard]] std::string network() const;
};

// Reads an IPv4 address, or an IPv6 address without brackets. Returns nothing if the text is no IP address.
[[nodiscard]] std::optional<SocketAddress> read_ip(const std::string& text, std::uint16_t port);

}  // namespace ratoon::board
