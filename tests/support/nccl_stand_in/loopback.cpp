#include "tests/support/nccl_stand_in/loopback.h"

#include <array>
#include <cerrno>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace ratoon::test::nccl_stand_in {
namespace {

sockaddr_in loopback_address(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

UniqueFd make_socket() {
  return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void send_without_delay(const UniqueFd& socket) {
  const int yes = 1;
  static_cast<void>(::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes));
}

}  // namespace

Listener listen_on_loopback() {
  constexpr int kBacklog = 128;
  Listener made{.socket = make_socket()};
  sockaddr_in address = loopback_address(0);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(made.socket.get(), plain, size) != 0 || ::listen(made.socket.get(), kBacklog) != 0 ||
      ::getsockname(made.socket.get(), plain, &size) != 0)
    return {};
  made.port = ntohs(address.sin_port);
  return made;
}

UniqueFd accept_from(const Listener& listener) {
  UniqueFd socket(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.is_open()) send_without_delay(socket);
  return socket;
}

UniqueFd connect_on_loopback(std::uint16_t port, const AbortSignal& signal) {
  UniqueFd socket = make_socket();
  const sockaddr_in address = loopback_address(port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EINPROGRESS) return {};
    std::array<pollfd, 2> requests{pollfd{.fd = signal.fd(), .events = POLLIN, .revents = 0},
                                   pollfd{.fd = socket.get(), .events = POLLOUT, .revents = 0}};
    while (::poll(requests.data(), requests.size(), -1) < 0 && errno == EINTR) {
    }
    int error = 0;
    socklen_t size = sizeof error;
    if (requests[0].revents != 0 || ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 ||
        error != 0)
      return {};
  }
  send_without_delay(socket);
  return socket;
}

}  // namespace ratoon::test::nccl_stand_in
