// Opens the socket to which the other ranks of an attempt connect if this process becomes rank 0. The socket
// listens before its address is published, so that no other process can take the port and no connection is
// refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/core/fd_closed_on_fork.h"

namespace ratoon::session {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  std::uint16_t port = 0;

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// Splits an address of the form "host:port" or "[IPv6 address]:port" into host and port.
[[nodiscard]] HostPort split_address(std::string_view address);
[[nodiscard]] std::string format_address(const HostPort& address);

// While other processes wait, they test connections to the socket (peer_probe.h). The kernel queues a
// connection for accept() only when the peer has sent data, so a probe is never accepted.
struct RendezvousSocket {
  FdClosedOnFork fd;
  HostPort at;
};

// Binds to `pod_ip`. If `pod_ip` is empty, the socket binds to loopback, for processes of one machine.
[[nodiscard]] Result<RendezvousSocket> open_rendezvous_socket(const std::string& pod_ip);

}  // namespace ratoon::session
