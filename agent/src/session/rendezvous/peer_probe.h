// Tries once to connect to each peer, and returns the peers that could not be reached.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::session {

// Returns the UIDs of the peers that refused the connection, have no route, or did not answer within
// `patience`. All peers are tried at once. The peer's kernel answers; its program need not accept the
// connection, and does not see it (rendezvous_socket.h). A peer with a name as its address, or one that was
// not tried because this machine lacks descriptors or ports, is not returned. After a stop request the result
// is empty.
[[nodiscard]] std::vector<std::string> probe_peers(const std::vector<PeerAddress>& peers, Duration patience,
                                                   const std::stop_token& stop);

}  // namespace ratoon::session
