#include "agent/src/session/meeting_socket.h"

#include <cerrno>
#include <charconv>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/contract/names.h"

namespace ratoon::session {
namespace {

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
};

// With port 0: the kernel picks one.
Result<SocketAddress> read_ip(const std::string& text) {
  SocketAddress address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.bytes);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.bytes);
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    address.size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    address.size = sizeof *v6;
  } else {
    return Error(ErrorKind::kInvalid, std::string(names::env::kPodIp) +
                                          " must be the IP address of this pod (status.podIP), found '" +
                                          text + "'");
  }
  return address;
}

std::uint16_t port_of(SocketAddress& address) {
  return ntohs(address.bytes.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6*>(&address.bytes)->sin6_port
                   : reinterpret_cast<sockaddr_in*>(&address.bytes)->sin_port);
}

}  // namespace

HostPort split_address(std::string_view address) {
  HostPort result;
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos) return {.host = std::string(address)};
  const std::string_view port = address.substr(colon + 1);
  std::from_chars(port.data(), port.data() + port.size(), result.port);
  std::string_view host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  result.host = host;
  return result;
}

std::string join_address(const HostPort& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

Result<MeetingSocket> open_meeting_socket(const std::string& pod_ip) {
  const std::string host = pod_ip.empty() ? "127.0.0.1" : pod_ip;
  auto address = read_ip(host);
  if (!address) return address.error();
  UniqueFd fd(::socket(address->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return system_error(errno, "making the socket where the ranks meet");
  if (::bind(fd.get(), address->get(), address->size) != 0 || ::listen(fd.get(), SOMAXCONN) != 0 ||
      ::getsockname(fd.get(), address->get(), &address->size) != 0) {
    return system_error(errno, "binding the socket where the ranks meet to " + host);
  }
  return MeetingSocket{.fd = std::move(fd), .at = {.host = host, .port = port_of(*address)}};
}

}  // namespace ratoon::session
