#include "base/http/client/socket_counters.h"

#include <chrono>

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace ratoon::http {

namespace {

std::uint64_t queued_bytes(int socket) {
  int queued = 0;
  return ::ioctl(socket, SIOCINQ, &queued) == 0 ? static_cast<std::uint64_t>(queued) : 0;
}

std::uint64_t subtract_or_zero(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}

}  // namespace

std::optional<SocketCounters> read_socket_counters(int socket) {
  const std::uint64_t queued_before = queued_bytes(socket);
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  const std::uint64_t queued_after = queued_bytes(socket);

  SocketCounters reading;
  reading.received_bytes = info.tcpi_bytes_received;
  reading.read_bytes_min = subtract_or_zero(reading.received_bytes, queued_after);
  reading.read_bytes_max = subtract_or_zero(reading.received_bytes, queued_before);
  reading.acked_bytes = info.tcpi_bytes_acked;
  reading.since_last_byte = std::chrono::milliseconds(info.tcpi_last_data_recv);
  return reading;
}

bool has_input(int socket) {
  pollfd entry{socket, POLLIN, 0};
  return ::poll(&entry, 1, 0) != 0;
}

void shut_down_socket(int socket) {
  ::shutdown(socket, SHUT_RDWR);
}

}  // namespace ratoon::http
