// Tries once to connect to each peer, and returns the peers that could not be reached.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::session {

// Returns the UIDs of the peers that refused the connection, have no route, or did not answer within
// `patience`. All peers are tried at once. The kernel of the peer answers; the peer's program need not
// accept the connection, and does not see it (rendezvous_socket.h). A peer is not returned if its address
// is a name, or if this machine lacks descriptors or ports to try it. After a stop request no peer is
// returned.
[[nodiscard]] std::vector<std::string> probe_peers(const std::vector<PeerAddress>& peers, Duration patience,
                                                   const std::stop_token& stop);

}  // namespace ratoon::session
