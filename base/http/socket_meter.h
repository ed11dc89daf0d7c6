// What the kernel knows about a TCP connection that a library owns. This is how calls over cpprestsdk are
// bounded: the library tells neither how much it has read nor when the last byte came.
#pragma once

#include <cstdint>
#include <optional>

#include "base/core/clock.h"

namespace ratoon::http {

struct SocketReading {
  std::uint64_t received_bytes = 0;  // by the kernel
  std::uint64_t taken_bytes = 0;     // of these, by whoever reads the socket
  std::uint64_t acked_bytes = 0;     // of ours, by the other side
  Duration since_last_byte{0};       // received
};

[[nodiscard]] std::optional<SocketReading> read_meter(int socket);

// Whether an idle connection has something to read: a surplus reply, or its end. Either way it is of no more
// use.
[[nodiscard]] bool has_input(int socket);

// Ends a connection at once, for whoever uses it in whatever thread.
void cut_socket(int socket);

}  // namespace ratoon::http
