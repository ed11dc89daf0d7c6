#include "agent/src/board/connections.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "agent/src/board/ip_address.h"
#include "base/core/random_name.h"

namespace ratoon::board {
namespace {

constexpr std::size_t kConnectionsMin = 16384;
constexpr std::size_t kConnectionsPerRank = 4;  // a rank has one or two, and as many of the attempt before
constexpr std::size_t kBufferedBytesMax = std::size_t{256} << 20;
// If accept() finds no free descriptor or memory, the server pauses, because an immediate retry would fail
// again.
constexpr Duration kAcceptRetryPause = std::chrono::milliseconds(100);

// Sets TCP_NODELAY, because answers are small and must be sent at once. Keepalive probes detect a client
// whose machine died, so that its descriptor is closed.
void set_socket_options(int fd) {
  const auto set = [fd](int level, int name, int value) {
    static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

// Returns an empty nonce if the system gives no random numbers. Every handshake with an empty nonce fails.
std::string draw_nonce() {
  return random_hex_secret(kNonceBytes).value_or(std::string());
}

}  // namespace

std::size_t connections_max_for(std::uint32_t world_size) {
  return std::max(kConnectionsMin, kConnectionsPerRank * world_size);
}

std::size_t open_files_needed_for(std::uint32_t world_size, std::size_t own_files) {
  return kConnectionsPerRank * world_size + own_files;
}

void Connections::begin_attempt(const ServedAttempt& served_attempt) {
  if (served_attempt.attempt <= served_attempt_.attempt) return;
  served_attempt_ = served_attempt;
  send_answers(key_value_store_.begin_attempt(served_attempt_.attempt));
  std::vector<std::uint64_t> unauthenticated;
  for (const auto& [id, connection] : connections_)
    if (unauthenticated_clients_.contains(id)) unauthenticated.push_back(id);
  for (const std::uint64_t id : unauthenticated)
    apply_handshake_step(id, connections_.at(id).handshake.begin_attempt(served_attempt_, draw_nonce()));
}

void Connections::accept_all() {
  const Timestamp now = clock_.now();
  while (unauthenticated_clients_.may_accept(now)) {
    SocketAddress peer;
    peer.size = sizeof peer.bytes;
    UniqueFd fd(::accept4(listening_fd_, peer.get(), &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.is_open()) {
      add(std::move(fd), peer.network());
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return;
    report_refused(system_error(errno, "accepting a connection of a rank").message());
    accept_paused_until_ = now + kAcceptRetryPause;
    break;
  }
  stop_accepting();
}

// Reports the first refused connection. Without a report, the user would not know why rank 0 and the refused
// ranks wait.
void Connections::report_refused(const std::string& why) {
  if (!report_ || std::exchange(is_refusal_reported_, true)) return;
  report_(
      "rank 0's key-value store, through which the ranks exchange values, refuses further connections, and "
      "the refused ranks wait; open connections: " +
      std::to_string(connections_.size()) + "; reason: " + why);
}

void Connections::stop_accepting() {
  is_accepting_ = false;
  set_epoll_events(listening_fd_, kListeningId, 0);
}

void Connections::add(UniqueFd fd, const std::string& from) {
  const std::uint64_t id = ++last_id_;
  if (const auto leaving = unauthenticated_clients_.add(id, clock_.now(), from)) disconnect_client(*leaving);
  set_socket_options(fd.get());
  epoll_event event{.events = EPOLLIN, .data = {.u64 = id}};
  if (connections_.size() >= connections_max_for(served_attempt_.world_size)) {
    report_refused("a run of " + std::to_string(served_attempt_.world_size) +
                   " ranks needs no further connections");
  } else if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd.get(), &event) == 0) {
    connections_[id].fd = std::move(fd);
    return;
  }
  unauthenticated_clients_.remove(id);
}

std::optional<Timestamp> Connections::handle_timeouts() {
  const Timestamp now = clock_.now();
  for (const std::uint64_t id : unauthenticated_clients_.find_expired(now)) disconnect_client(id);
  if (!is_accepting_ && accept_paused_until_ <= now && unauthenticated_clients_.may_accept(now)) {
    is_accepting_ = true;
    set_epoll_events(listening_fd_, kListeningId, EPOLLIN);
  }
  const auto overdue = unauthenticated_clients_.next_deadline();
  if (is_accepting_) return overdue;
  const Timestamp accepts_at = std::max(accept_paused_until_, unauthenticated_clients_.may_accept_at(now));
  return overdue ? std::min(*overdue, accepts_at) : accepts_at;
}

void Connections::continue_io(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;  // closed after epoll reported it
  if (!found->second.unsent_bytes.empty() && !flush(id, found->second)) return disconnect_client(id);
  read_from(id, found->second);
}

void Connections::read_from(std::uint64_t id, Connection& connection) {
  const bool is_unproven = unauthenticated_clients_.contains(id);
  const std::size_t limit = is_unproven ? kHandshakeFrameBytesMax : receive_buffer_.size();
  const auto size = ::recv(connection.fd.get(), receive_buffer_.data(), limit, 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0 || !unauthenticated_clients_.record_read(id)) return disconnect_client(id);
  // Disconnect a client that sends a request before the answer to its last request, because the server would
  // otherwise have to store many requests.
  if (key_value_store_.is_waiting(id) || !connection.unsent_bytes.empty()) return disconnect_client(id);
  connection.in.append(receive_buffer_.data(), static_cast<std::size_t>(size));
  if (!update_buffered_bytes(connection)) return disconnect_client(id);
  auto decoded = decode(connection.in, is_unproven ? kHandshakeFrameBytesMax : kFrameBytesMax);
  if (!decoded) return disconnect_client(id);
  if (!*decoded) return;
  if ((*decoded)->size != connection.in.size()) return disconnect_client(id);
  connection.in = {};
  static_cast<void>(update_buffered_bytes(connection));
  handle_frame(id, connection, std::move((*decoded)->frame));
}

void Connections::handle_frame(std::uint64_t id, Connection& connection, Frame frame) {
  if (unauthenticated_clients_.contains(id))
    return apply_handshake_step(id, connection.handshake.handle_frame(frame, served_attempt_, draw_nonce()));
  // Close the connection if the request is for another attempt, because the client has proved only that it
  // has the secret of the attempt in its handshake.
  const Hello& hello = connection.handshake.hello();
  if (frame.attempt != hello.attempt) return disconnect_client(id);
  send_answers(key_value_store_.handle_request(id, hello.rank, std::move(frame)));
}

void Connections::apply_handshake_step(std::uint64_t id, Handshake::Step step) {
  Connection& connection = connections_.at(id);
  if (connection.handshake.stage() == Handshake::Stage::kProven && !admit_authenticated(id, connection)) {
    step = {.answer = make_frame(Status::kRefused, served_attempt_.attempt,
                                 {"rank " + std::to_string(connection.handshake.hello().rank) + " has " +
                                  std::to_string(kConnectionsPerRankMax) + " connections already"}),
            .closes_connection = true};
  }
  if (step.answer) connection.unsent_bytes = encode(*step.answer);
  if (!flush(id, connection) || step.closes_connection) disconnect_client(id);
}

bool Connections::admit_authenticated(std::uint64_t id, Connection& connection) {
  const Hello& hello = connection.handshake.hello();
  RankUse& of_rank = rank_uses_[{hello.attempt, hello.rank}];
  if (of_rank.connections == kConnectionsPerRankMax) return false;
  ++of_rank.connections;
  of_rank.buffered_bytes += connection.buffered_bytes;
  connection.rank_use = &of_rank;
  unauthenticated_clients_.mark_authenticated(id);
  return true;
}

void Connections::send_answers(KeyValueStore::Answers answers) {
  for (KeyValueStore::Answer& answer : answers) {
    const auto found = connections_.find(answer.to);
    if (found == connections_.end()) continue;
    found->second.unsent_bytes = encode(answer.frame);
    if (!flush(answer.to, found->second)) disconnect_client(answer.to);
  }
}

bool Connections::flush(std::uint64_t id, Connection& connection) {
  std::size_t sent = 0;
  while (sent < connection.unsent_bytes.size()) {
    const auto size = ::send(connection.fd.get(), connection.unsent_bytes.data() + sent,
                             connection.unsent_bytes.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size < 0) return false;
    sent += static_cast<std::size_t>(size);
  }
  connection.unsent_bytes =
      sent == connection.unsent_bytes.size() ? std::string() : connection.unsent_bytes.substr(sent);
  if (const bool is_left = !connection.unsent_bytes.empty(); is_left != connection.is_waiting_to_send) {
    connection.is_waiting_to_send = is_left;
    set_epoll_events(connection.fd.get(), id, is_left ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }
  return update_buffered_bytes(connection);
}

bool Connections::update_buffered_bytes(Connection& connection) {
  const std::size_t before =
      std::exchange(connection.buffered_bytes, connection.in.size() + connection.unsent_bytes.size());
  buffered_bytes_ = buffered_bytes_ - before + connection.buffered_bytes;
  if (connection.rank_use == nullptr) return buffered_bytes_ <= kBufferedBytesMax;
  std::size_t& of_rank = connection.rank_use->buffered_bytes;
  of_rank = of_rank - before + connection.buffered_bytes;
  return buffered_bytes_ <= kBufferedBytesMax && of_rank <= kBufferedBytesPerRankMax;
}

void Connections::disconnect_client(std::uint64_t id) {
  key_value_store_.cancel_wait(id);
  const auto found = connections_.find(id);
  if (RankUse* const of_rank = found->second.rank_use) {
    of_rank->buffered_bytes -= found->second.buffered_bytes;
    const Hello& hello = found->second.handshake.hello();
    if (--of_rank->connections == 0) rank_uses_.erase({hello.attempt, hello.rank});
  }
  unauthenticated_clients_.remove(id);
  buffered_bytes_ -= found->second.buffered_bytes;
  // Call shutdown() first, because close() does not end the connection if a forked process also has the
  // socket.
  const int fd = found->second.fd.get();
  static_cast<void>(::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr));
  static_cast<void>(::shutdown(fd, SHUT_RDWR));
  connections_.erase(found);
}

void Connections::set_epoll_events(int fd, std::uint64_t id, std::uint32_t what) const {
  epoll_event event{.events = what, .data = {.u64 = id}};
  static_cast<void>(::epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, fd, &event));
}

}  // namespace ratoon::board
