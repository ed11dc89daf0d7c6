#include "agent/src/session/rendezvous/rendezvous_socket.h"

#include <cerrno>
#include <charconv>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "agent/src/board/ip_address.h"
#include "base/contract/names.h"

namespace ratoon::session {

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

std::string format_address(const HostPort& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

Result<RendezvousSocket> open_rendezvous_socket(const std::string& pod_ip) {
  const std::string host = pod_ip.empty() ? "127.0.0.1" : pod_ip;
  auto address = board::read_ip(host, 0);  // the kernel picks the port
  if (!address) {
    return Error(ErrorKind::kInvalid, std::string(names::env::kPodIp) +
                                          " must be the IP address of this pod (status.podIP), found '" +
                                          host + "'");
  }
  UniqueFd fd(::socket(address->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return system_error(errno, "creating the socket for connections of other ranks");
  const int first_bytes_within_seconds = 30;
  static_cast<void>(::setsockopt(fd.get(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &first_bytes_within_seconds,
                                 sizeof first_bytes_within_seconds));
  if (::bind(fd.get(), address->get(), address->size) != 0 || ::listen(fd.get(), SOMAXCONN) != 0 ||
      ::getsockname(fd.get(), address->get(), &address->size) != 0) {
    return system_error(errno, "binding the socket for connections of other ranks to " + host);
  }
  return RendezvousSocket{.fd = FdClosedOnFork(std::move(fd)), .at = {.host = host, .port = address->port()}};
}

}  // namespace ratoon::session
