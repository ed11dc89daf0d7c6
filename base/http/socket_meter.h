// What the kernel knows about a TCP connection that a library owns. This is how calls over cpprestsdk are
// bounded: the library tells neither how much it has read nor when the last byte came.
#pragma once

#include <cstdint>
#include <optional>

#include "base/core/clock.h"

namespace ratoon::http {

struct SocketReading {
  std::uint64_t received_bytes = 0;  // by the kernel
  // Of these, what whoever reads the socket has taken by now. The kernel is asked twice and bytes move in
  // between, so there are two answers; the upper one only holds while nobody reads.
  std::uint64_t taken_at_least_bytes = 0;
  std::uint64_t taken_at_most_bytes = 0;
  std::uint64_t acked_bytes = 0;  // of ours, by the other side
  Duration since_last_byte{0};    // received
};

[[nodiscard]] std::optional<SocketReading> read_meter(int socket);

// Whether an idle connection has something to read: a surplus reply, or its end. Either way it is of no more
// use.
[[nodiscard]] bool has_input(int socket);

// Ends a connection at once, for whoever uses it in whatever thread.
void cut_socket(int socket);

}  // namespace ratoon::http
