// ServedBoard serves the board, a key-value store for all ranks, while this process is rank 0.
#pragma once

#include <cstdint>

#include <ratoon/result.h>

#include "agent/src/board/handshake.h"
#include "agent/src/board/server.h"

namespace ratoon::board {

// Serves the board of the attempt on the listening socket, if this process does not serve this board already.
// A process has one listening socket and one server for it, because two servers would share the incoming
// connections. The server keeps running after another process has become rank 0, but no rank connects to it
// then.
[[nodiscard]] Result<void> serve_board(std::uint16_t port, int listening_fd,
                                       const ServedAttempt& served_attempt,
                                       const Server::ReportFunction& tell);

}  // namespace ratoon::board
