// Tries once to connect to each peer, and returns the peers that could not be reached.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::session {

// Returns the UIDs of the peers that refused the connection, to which there is no route, or that did not
// answer within `patience`. Tries to connect to all peers at the same time. The kernel of the peer's machine
// answers, and the peer's program does not see the connection (rendezvous_socket.h). Peers whose address is a
// host name, or for which this machine lacks descriptors or ports, are not returned. After a stop request,
// the result is empty.
[[nodiscard]] std::vector<std::string> probe_peers(const std::vector<PeerAddress>& peers, Duration patience,
                                                   const std::stop_token& stop);

}  // namespace ratoon::session
