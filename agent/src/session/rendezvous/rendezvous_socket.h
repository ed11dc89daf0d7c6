// Opens the socket at which the ranks of an attempt meet if this process becomes rank 0. The socket is bound
// and listens before its address is published. Therefore no other process can take the port, and no
// connection is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/core/unforked_fd.h"

namespace ratoon::session {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  std::uint16_t port = 0;

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// Splits an address "host:port" or "[v6]:port", the two forms that messages allow.
[[nodiscard]] HostPort split_address(std::string_view address);
[[nodiscard]] std::string join_address(const HostPort& address);

// Other members probe the socket while they wait (peer_probe.h). The kernel keeps a connection that sends
// nothing out of the accept queue, so a probe is never accepted.
struct RendezvousSocket {
  UnforkedFd fd;
  HostPort at;
};

// Binds to `pod_ip`. If `pod_ip` is empty, the socket binds to loopback, for processes of one machine.
[[nodiscard]] Result<RendezvousSocket> open_meeting_socket(const std::string& pod_ip);

}  // namespace ratoon::session
