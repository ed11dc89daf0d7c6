// The kernel's counters of a TCP connection that a library owns. With these counters calls over cpprestsdk
// are bounded: the library reports neither how much it has read nor when the last byte came.
#pragma once

#include <cstdint>
#include <optional>

#include "base/core/clock.h"

namespace ratoon::http {

struct SocketReading {
  std::uint64_t received_bytes = 0;  // by the kernel
  // The part of the received bytes that the socket's reader has taken by now. The kernel is asked twice and
  // bytes move between the two calls, so there are two values; the upper value is only valid while no thread
  // reads.
  std::uint64_t taken_at_least_bytes = 0;
  std::uint64_t taken_at_most_bytes = 0;
  std::uint64_t acked_bytes = 0;  // sent bytes that the server has acknowledged
  Duration since_last_byte{0};    // since the last received byte
};

[[nodiscard]] std::optional<SocketReading> read_meter(int socket);

// Whether an idle connection has something to read: a surplus reply, or its end. In both cases the connection
// cannot be used again.
[[nodiscard]] bool has_input(int socket);

// Ends a connection at once, for any thread that uses it.
void cut_socket(int socket);

}  // namespace ratoon::http
