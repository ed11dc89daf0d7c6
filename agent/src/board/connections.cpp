#include "agent/src/board/connections.h"

#include <array>
#include <cerrno>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace ratoon::board {
namespace {

constexpr std::size_t kConnectionsMax = 16384;
constexpr std::size_t kHeldMax = std::size_t{256} << 20;

// Answers are small and waited for. A peer whose machine died says nothing any more: ask it now and then, or
// its descriptor stays with us.
void prepare(int fd) {
  const auto set = [fd](int level, int name, int value) {
    static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

void Connections::accept_all() {
  for (;;) {
    UniqueFd fd(::accept4(listening_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd.is_open()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) return;
      is_accepting_ = false;
      return watch(listening_, kListening, 0);
    }
    if (connections_.size() == kConnectionsMax) continue;
    prepare(fd.get());
    const std::uint64_t id = ++last_id_;
    epoll_event event{.events = EPOLLIN, .data = {.u64 = id}};
    if (::epoll_ctl(events_, EPOLL_CTL_ADD, fd.get(), &event) != 0) continue;
    connections_[id].fd = std::move(fd);
  }
}

void Connections::accept_again() {
  if (is_accepting_) return;
  is_accepting_ = true;
  watch(listening_, kListening, EPOLLIN);
}

void Connections::go_on(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;  // hung up on since epoll spoke of it
  if (!found->second.out.empty() && !flush(id, found->second)) return hang_up(id);
  read_from(id, found->second);
}

void Connections::read_from(std::uint64_t id, Connection& connection) {
  std::array<char, 64 << 10> chunk{};
  const auto size = ::recv(connection.fd.get(), chunk.data(), chunk.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return hang_up(id);
  // One request at a time: who does not wait for the answer would make us keep many.
  if (notes_.is_waiting(id) || !connection.out.empty()) return hang_up(id);
  connection.in.append(chunk.data(), static_cast<std::size_t>(size));
  if (!count(connection)) return hang_up(id);
  auto decoded = decode(connection.in);
  if (!decoded) return hang_up(id);
  if (!*decoded) return;
  if ((*decoded)->size != connection.in.size()) return hang_up(id);
  connection.in = {};
  static_cast<void>(count(connection));
  send(notes_.take(id, std::move((*decoded)->frame)));
}

void Connections::send(Notes::Answers answers) {
  for (Notes::Answer& answer : answers) {
    const auto found = connections_.find(answer.to);
    if (found == connections_.end()) continue;
    found->second.out = encode(answer.frame);
    if (!flush(answer.to, found->second)) hang_up(answer.to);
  }
}

bool Connections::flush(std::uint64_t id, Connection& connection) {
  std::size_t sent = 0;
  while (sent < connection.out.size()) {
    const auto size =
        ::send(connection.fd.get(), connection.out.data() + sent, connection.out.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size < 0) return false;
    sent += static_cast<std::size_t>(size);
  }
  connection.out = sent == connection.out.size() ? std::string() : connection.out.substr(sent);
  if (const bool is_left = !connection.out.empty(); is_left != connection.is_watched_for_room) {
    connection.is_watched_for_room = is_left;
    watch(connection.fd.get(), id, is_left ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }
  return count(connection);
}

// False: all of them together would take too much, and this one is the last straw.
bool Connections::count(Connection& connection) {
  held_ -= connection.held;
  connection.held = connection.in.size() + connection.out.size();
  held_ += connection.held;
  return held_ <= kHeldMax;
}

void Connections::hang_up(std::uint64_t id) {
  notes_.forget(id);
  const auto found = connections_.find(id);
  held_ -= found->second.held;
  // Closing alone does neither where a process that the program forked has the socket too.
  const int fd = found->second.fd.get();
  static_cast<void>(::epoll_ctl(events_, EPOLL_CTL_DEL, fd, nullptr));
  static_cast<void>(::shutdown(fd, SHUT_RDWR));
  connections_.erase(found);
}

void Connections::watch(int fd, std::uint64_t id, std::uint32_t what) const {
  epoll_event event{.events = what, .data = {.u64 = id}};
  static_cast<void>(::epoll_ctl(events_, EPOLL_CTL_MOD, fd, &event));
}

}  // namespace ratoon::board
