// Tries to connect to addresses, once, and says to which no connection is possible.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::session {

// Returns the UIDs of the peers that refused the connection, to which there is no way, or that did not answer
// within `patience`. All are tried at once. The system of the other side answers; its program need not accept
// the connection, and sees nothing of it (rendezvous_socket.h). A peer whose address is a name, or that could
// not be tried for lack of descriptors or ports here, is not returned. After a stop is requested the result
// is empty.
[[nodiscard]] std::vector<std::string> probe_peers(const std::vector<PeerAddress>& peers, Duration patience,
                                                   const std::stop_token& stop);

}  // namespace ratoon::session
