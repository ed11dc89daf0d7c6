#include "tests/conformance/support/raw_socket.h"

#include <thread>

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace ratoon::http::testing {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

RawSocket RawSocket::connect_to(std::uint16_t port, const char* from) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int is_late = 1;  // the kernel takes a port for it at connect()
  ::setsockopt(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &is_late, sizeof is_late);
  auto own = loopback(0);
  ::inet_pton(AF_INET, from, &own.sin_addr);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
    return RawSocket(UniqueFd());
  const auto address = loopback(port);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return RawSocket(std::move(fd));
}

bool RawSocket::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::size_t RawSocket::send_flood(std::string_view piece, std::size_t total_bytes) const {
  std::size_t sent = 0;
  while (sent < total_bytes && send(piece)) sent += piece.size();
  return sent;
}

bool RawSocket::receive(std::chrono::milliseconds patience) {
  pollfd entry{fd_.get(), POLLIN, 0};
  if (::poll(&entry, 1, static_cast<int>(patience.count())) != 1) return false;
  char buffer[65536];
  const auto size = ::recv(fd_.get(), buffer, sizeof buffer, 0);
  if (size <= 0) {
    has_ended_ = true;
    return false;
  }
  received_.append(buffer, static_cast<std::size_t>(size));
  return true;
}

std::string RawSocket::read_until(std::string_view end, std::chrono::milliseconds patience) {
  std::size_t found = 0;
  while ((found = received_.find(end)) == std::string::npos) {
    if (!receive(patience)) return std::exchange(received_, {});
  }
  return read_exactly(found + end.size(), patience);
}

std::string RawSocket::read_exactly(std::size_t size, std::chrono::milliseconds patience) {
  while (received_.size() < size && receive(patience)) {
  }
  std::string text = received_.substr(0, size);
  received_.erase(0, text.size());
  return text;
}

std::string RawSocket::read_to_end(std::chrono::milliseconds patience) {
  while (receive(patience)) {
  }
  return std::exchange(received_, {});
}

void RawSocket::close_writing() const {
  ::shutdown(fd_.get(), SHUT_WR);
}

bool RawSocket::wait_until_received() const {
  const Stopwatch watch;
  while (watch.elapsed() < kPatience) {
    int unacknowledged = 0;
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::ioctl(fd_.get(), SIOCOUTQ, &unacknowledged) != 0 ||
        ::getsockopt(fd_.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
      return false;
    if (unacknowledged == 0 && info.tcpi_state != TCP_FIN_WAIT1) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void RawSocket::reset() {
  const linger at_once{1, 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  fd_.reset();
}

ClosedPort::ClosedPort() : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  auto address = loopback(0);
  socklen_t size = sizeof address;
  ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size);
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
}

Listener::Listener(int backlog) {
  ::listen(fd.get(), backlog);
}

}  // namespace ratoon::http::testing
