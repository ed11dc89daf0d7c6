#include "base/http/client/direct_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/http/client/socket_counters.h"
#include "base/http/tls/tls_pem.h"

namespace ratoon::http {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Cause = Interruption::Cause;

// OpenSSL reads up to kReadAheadBytes in one system call, so it reads several events of a watch at once.
constexpr std::size_t kReadAheadBytes = 32 * 1024;

Interruption broken_interruption(int code) {
  return {.problem = std::strerror(code), .code = code};
}

// Writes without SIGPIPE: OpenSSL's own write function raises SIGPIPE if the connection is closed.
int write_to_socket(BIO* bio, const char* data, int size) {
  const int socket = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  BIO_clear_retry_flags(bio);
  const auto sent = ::send(socket, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int read_from_socket(BIO* bio, char* into, int size) {
  const int socket = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  BIO_clear_retry_flags(bio);
  const auto got = ::recv(socket, into, static_cast<std::size_t>(size), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(got);
}

long control_socket(BIO* bio, int what, long, void*) {
  if (what == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return what == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO* make_socket_bio(int socket) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (made == nullptr) return made;
    BIO_meth_set_write(made, write_to_socket);
    BIO_meth_set_read(made, read_from_socket);
    BIO_meth_set_ctrl(made, control_socket);
    return made;
  }();
  BIO* bio = method != nullptr ? BIO_new(method) : nullptr;
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  return bio;
}

int as_int(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
}

}  // namespace

struct DirectStream::Tls {
  OpenSslPtr<SSL_CTX> context;
  SSL* connection = nullptr;

  Tls() = default;
  ~Tls() { SSL_free(connection); }
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  bool prepare(const TlsClient& client, TlsPeer* peer, int socket) {
    context.reset(SSL_CTX_new(TLS_client_method()));
    if (!context || !client.prepare(context.get(), peer)) return false;
    SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                        SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context.get(), 1);
    SSL_CTX_set_default_read_buffer_len(context.get(), kReadAheadBytes);
    connection = SSL_new(context.get());
    BIO* bio = connection != nullptr ? make_socket_bio(socket) : nullptr;
    if (bio == nullptr) return false;
    SSL_set_bio(connection, bio, bio);
    send_server_name_indication(connection, *peer);
    return true;
  }
};

DirectStream::DirectStream(UniqueFd socket) : socket_(std::move(socket)) {}
DirectStream::~DirectStream() = default;

void DirectStream::set_bounds(Bounds bounds) {
  bounds_ = std::move(bounds);
  restart_idle_timer();
  next_ack_check_ = last_byte_time_ + bounds_.silence / 8;
}

void DirectStream::restart_idle_timer() {
  last_byte_time_ = SteadyClock::now();
}

// Acknowledged bytes count as activity, because a server is not silent while a long upload makes progress.
bool DirectStream::has_idle_timed_out(TimePoint now) {
  if (now >= next_ack_check_) {
    next_ack_check_ = now + bounds_.silence / 8;
    const auto reading = read_socket_counters(socket_.get());
    if (reading && std::exchange(acked_bytes_, reading->acked_bytes) != reading->acked_bytes)
      last_byte_time_ = now;
  }
  return now - last_byte_time_ >= bounds_.silence;
}

std::optional<Interruption> DirectStream::wait(short events) {
  while (true) {
    if (bounds_.stop.stop_requested()) return Interruption{.cause = Cause::kStopped};
    const TimePoint now = SteadyClock::now();
    if (bounds_.deadline && now >= *bounds_.deadline) return Interruption{.cause = Cause::kLate};
    std::optional<TimePoint> until = bounds_.deadline;
    if (bounds_.silence > Duration::zero()) {
      if (has_idle_timed_out(now)) return Interruption{.cause = Cause::kSilent};
      const TimePoint look = std::min(next_ack_check_, last_byte_time_ + bounds_.silence);
      until = until ? std::min(*until, look) : look;
    }
    const Duration left = until ? Duration(*until - now) : Duration::zero();
    const timespec timeout{.tv_sec = left.count() / 1'000'000'000, .tv_nsec = left.count() % 1'000'000'000};
    pollfd entries[] = {{socket_.get(), events, 0}, {wakeup_.fd(), POLLIN, 0}};
    ::ppoll(entries, 2, until ? &timeout : nullptr, nullptr);
    if (entries[1].revents != 0) wakeup_.clear();
    if (entries[0].revents != 0) return std::nullopt;
  }
}

std::optional<Interruption> DirectStream::wait_for_tls(int result) {
  const int system_code = errno;
  switch (SSL_get_error(tls_->connection, result)) {
    case SSL_ERROR_WANT_READ:
      return wait(POLLIN);
    case SSL_ERROR_WANT_WRITE:
      return wait(POLLOUT);
    case SSL_ERROR_SSL: {
      const unsigned long packed = ERR_peek_last_error();
      const std::string words = take_openssl_error();
      const bool is_cut = ERR_GET_REASON(packed) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
      return Interruption{.problem = is_cut ? "the connection ended without TLS's close message" : words,
                          .code = is_cut ? 0 : static_cast<int>(packed)};
    }
    case SSL_ERROR_SYSCALL:
      if (system_code != 0) return broken_interruption(system_code);
      [[fallthrough]];
    default:
      return Interruption{.problem = "the connection ended"};
  }
}

std::optional<Interruption> DirectStream::do_tls_handshake(std::shared_ptr<const TlsClient> tls,
                                                           const std::string& expected_name) {
  peer_.expected_name = expected_name;
  auto prepared = std::make_unique<Tls>();
  if (!prepared->prepare(*tls, &peer_, socket_.get()))
    return Interruption{.problem = "OpenSSL refused: " + take_openssl_error()};
  tls_ = std::move(prepared);
  while (true) {
    ERR_clear_error();
    errno = 0;
    const int result = SSL_connect(tls_->connection);
    if (result == 1) return std::nullopt;
    if (auto interruption = wait_for_tls(result)) return interruption;
  }
}

std::optional<Interruption> DirectStream::write(std::string_view bytes) {
  while (!bytes.empty()) {
    errno = 0;
    std::optional<Interruption> interruption;
    long sent = 0;
    if (tls_) {
      ERR_clear_error();
      sent = SSL_write(tls_->connection, bytes.data(), as_int(bytes.size()));
      if (sent <= 0) interruption = wait_for_tls(static_cast<int>(sent));
    } else {
      sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0)
        interruption = errno == EAGAIN || errno == EINTR ? wait(POLLOUT) : broken_interruption(errno);
    }
    if (interruption) return interruption;
    if (sent <= 0) continue;
    restart_idle_timer();
    sent_bytes_ += static_cast<std::uint64_t>(sent);
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return std::nullopt;
}

DirectStream::Read DirectStream::read(std::span<char> into) {
  // Waits before it reads, because a read before the wait would usually find no bytes.
  if (!has_unread_bytes()) {
    if (auto interruption = wait(POLLIN)) return {.interruption = std::move(interruption)};
  }
  while (true) {
    errno = 0;
    std::optional<Interruption> interruption;
    long got = 0;
    bool is_at_end = false;
    if (tls_) {
      ERR_clear_error();
      got = SSL_read(tls_->connection, into.data(), as_int(into.size()));
      is_at_end = got <= 0 && SSL_get_error(tls_->connection, static_cast<int>(got)) == SSL_ERROR_ZERO_RETURN;
      if (got <= 0 && !is_at_end) interruption = wait_for_tls(static_cast<int>(got));
    } else {
      got = ::recv(socket_.get(), into.data(), into.size(), 0);
      is_at_end = got == 0;
      if (got < 0)
        interruption = errno == EAGAIN || errno == EINTR ? wait(POLLIN) : broken_interruption(errno);
    }
    if (interruption) return {.interruption = std::move(interruption)};
    if (is_at_end) return {};
    if (got <= 0) continue;
    restart_idle_timer();
    received_bytes_ += static_cast<std::uint64_t>(got);
    return {.size = static_cast<std::size_t>(got)};
  }
}

bool DirectStream::has_unread_bytes() const {
  return tls_ && SSL_has_pending(tls_->connection) == 1;
}

}  // namespace ratoon::http
