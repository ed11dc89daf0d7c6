// The board (the store of the ranks) that this process serves while it is rank 0.
#pragma once

#include <cstdint>

#include <ratoon/result.h>

#include "agent/src/board/handshake.h"
#include "agent/src/board/server.h"

namespace ratoon::board {

// Serves the board of the attempt at this port, if this process does not serve it already. The listening
// socket belongs to the process, and so does its server: two servers would share the incoming connections. A
// server keeps running when rank 0 moves to another process; no rank connects to the server after the move.
[[nodiscard]] Result<void> serve_board(std::uint16_t port, int listening_fd, const Opening& opening,
                                       const Server::Tell& tell);

}  // namespace ratoon::board
