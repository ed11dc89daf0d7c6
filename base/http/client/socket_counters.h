// Reads the kernel's counters of a TCP connection that cpprestsdk owns, to limit the time and size of a call.
// The library cpprestsdk itself reports neither how many bytes it has read nor when the last byte came.
#pragma once

#include <cstdint>
#include <optional>

#include "base/core/clock.h"

namespace ratoon::http {

struct SocketCounters {
  std::uint64_t received_bytes = 0;  // by the kernel
  // The program has read at least `read_bytes_min` of the received bytes. If no thread reads from the socket
  // during read_socket_counters(), the program has read at most `read_bytes_max`. There are two bounds
  // instead of one number, because bytes may arrive or be read between the two system calls of
  // read_socket_counters().
  std::uint64_t read_bytes_min = 0;
  std::uint64_t read_bytes_max = 0;
  std::uint64_t acked_bytes = 0;  // sent bytes that the server has acknowledged
  Duration since_last_byte{0};    // since the last received byte
};

[[nodiscard]] std::optional<SocketCounters> read_socket_counters(int socket);

// Returns whether an idle connection has input: bytes that no call expects, or the end of the connection. A
// connection with input cannot be used again.
[[nodiscard]] bool has_input(int socket);

// Ends a connection at once; other threads may still be using it.
void shut_down_socket(int socket);

}  // namespace ratoon::http
