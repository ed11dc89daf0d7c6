#include "base/http/socket_meter.h"

#include <chrono>

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace ratoon::http {

std::optional<SocketReading> read_meter(int socket) {
  // Read the queue first: bytes that arrive in between then count as taken too late rather than too early.
  int queued = 0;
  if (::ioctl(socket, SIOCINQ, &queued) != 0) queued = 0;
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;

  SocketReading reading;
  reading.received_bytes = info.tcpi_bytes_received;
  const auto waiting = static_cast<std::uint64_t>(queued);
  reading.taken_bytes = reading.received_bytes > waiting ? reading.received_bytes - waiting : 0;
  reading.acked_bytes = info.tcpi_bytes_acked;
  reading.since_last_byte = std::chrono::milliseconds(info.tcpi_last_data_recv);
  return reading;
}

bool has_input(int socket) {
  pollfd entry{socket, POLLIN, 0};
  return ::poll(&entry, 1, 0) != 0;
}

void cut_socket(int socket) {
  ::shutdown(socket, SHUT_RDWR);
}

}  // namespace ratoon::http
