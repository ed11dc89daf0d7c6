// The address at which the ranks of an attempt would meet if this process became rank 0. The socket is bound
// and listens before its address is published. No other process can therefore take the port, and no
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

// "host:port" or "[v6]:port", as the contract allows.
[[nodiscard]] HostPort split_address(std::string_view address);
[[nodiscard]] std::string join_address(const HostPort& address);

// Other members probe the socket while they wait (peer_probe.h). A connection that sends nothing stays with
// the system: it is not accepted, and takes no place in the queue.
struct RendezvousSocket {
  UnforkedFd fd;
  HostPort at;
};

// Binds to `pod_ip`, or to loopback if it is empty, for processes of one machine.
[[nodiscard]] Result<RendezvousSocket> open_meeting_socket(const std::string& pod_ip);

}  // namespace ratoon::session
