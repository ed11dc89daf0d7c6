// The TCP ports of a test. A test opens a server at any free port and finds the port here, or it opens a
// server at a port that it chooses itself.
#pragma once

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ratoon::test {

inline std::set<std::uint16_t> own_ports() {
  std::set<std::uint16_t> ports;
  std::error_code gone;  // other threads open and close descriptors meanwhile
  for (std::filesystem::directory_iterator at("/proc/self/fd", gone), end; !gone && at != end;
       at.increment(gone)) {
    const std::string name = at->path().filename();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    int listens = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) continue;
    sockaddr_in6 address{};
    size = sizeof address;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    if (address.sin6_family == AF_INET || address.sin6_family == AF_INET6)
      ports.insert(ntohs(address.sin6_port));  // at the same place in both kinds of address
  }
  return ports;
}

// The first of ten ports for servers of this process. Systems give higher ports to connections, so that no
// connection takes such a port before the test opens it again. Another server may have it.
inline std::uint16_t first_port() {
  return static_cast<std::uint16_t>(20000 + ::getpid() % 1000 * 10);
}

// Calls `open` with one port after the other until `open` returns a server. Returns that server, or null if
// other servers have all ports.
template <class Open>
auto open_at_own_port(const Open& open) -> decltype(open(std::uint16_t())) {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i)
    if (auto server = open(static_cast<std::uint16_t>(first_port() + i))) return server;
  return {};
}

}  // namespace ratoon::test
