// Reads the kernel's counters of a TCP connection that cpprestsdk owns, in order to limit the time and size
// of a call: the library reports neither how much it has read nor when the last byte came.
#pragma once

#include <cstdint>
#include <optional>

#include "base/core/clock.h"

namespace ratoon::http {

struct SocketReading {
  std::uint64_t received_bytes = 0;  // by the kernel
  // How many of the received bytes the socket's reader has read. The number of read bytes lies between two
  // bounds, because two system calls are needed to compute it and bytes move between these calls; the upper
  // bound is only valid while no thread reads.
  std::uint64_t taken_at_least_bytes = 0;
  std::uint64_t taken_at_most_bytes = 0;
  std::uint64_t acked_bytes = 0;  // sent bytes that the server has acknowledged
  Duration since_last_byte{0};    // since the last received byte
};

[[nodiscard]] std::optional<SocketReading> read_meter(int socket);

// Returns whether an idle connection has input: bytes that no call expects, or the end of the connection. A
// connection with input cannot be used again.
[[nodiscard]] bool has_input(int socket);

// Ends a connection at once; other threads may still be using it.
void cut_socket(int socket);

}  // namespace ratoon::http
