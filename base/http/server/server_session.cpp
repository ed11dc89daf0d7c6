#include "base/http/server/server_session.h"

#include <algorithm>
#include <chrono>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>

namespace ratoon::http {
namespace {

using SteadyClock = std::chrono::steady_clock;

// How long we continue to read after the last reply. Closing with unread input would reset the TCP
// connection, and the client may get the reset before the reply.
constexpr std::chrono::seconds kLingerTime{1};

// How many bytes we read ahead while a request is being handled. We notice that the client has closed the
// connection only by reading from it.
constexpr std::size_t kReadAheadBytesMax = 8 * 1024;

SteadyClock::duration to_steady_duration(Duration duration) {
  return std::chrono::duration_cast<SteadyClock::duration>(duration);
}

// Returns the IPv4 address of an IPv4 client, which a server on "::" sees as an IPv6 address.
boost::asio::ip::address to_ipv4_if_mapped(const boost::asio::ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6());
}

Peer peer_of(const ServerTcp& socket) {
  boost::system::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return {};
  const auto plain_address = to_ipv4_if_mapped(endpoint.address());
  const std::string address = plain_address.to_string();
  const std::string host = plain_address.is_v6() ? "[" + address + "]" : address;
  return {.address = address, .address_with_port = host + ":" + std::to_string(endpoint.port())};
}

}  // namespace

ServerSession::ServerSession(std::shared_ptr<ServerCore> core, ServerTcp socket)
    : core_(std::move(core)),
      strand_(socket.get_executor()),
      socket_(make_server_socket(std::move(socket), core_->tls())),
      timer_(strand_),
      is_unauthenticated_(core_->options.unauthenticated_connections_max.has_value()),
      peer_(peer_of(socket_->tcp())) {}

void ServerSession::start() {
  boost::asio::post(strand_, [self = shared_from_this()] {
    if (self->phase_ == Phase::kClosed) return;
    self->unauthenticated_deadline_ =
        SteadyClock::now() + to_steady_duration(self->core_->options.unauthenticated_deadline);
    self->set_read_deadline(self->core_->options.head_deadline);
    self->socket_->handshake([self](const boost::system::error_code& error, std::size_t) {
      if (self->phase_ == Phase::kClosed) return;
      // OpenSSL has sent the TLS alert with the reason; linger() gives the alert time to arrive.
      if (error) return self->linger();
      self->begin_request();
    });
  });
}

void ServerSession::start_refusing() {
  boost::asio::post(strand_, [self = shared_from_this()] {
    // If the server has closed this connection because it has too many connections, skip the TLS handshake.
    if (self->phase_ == Phase::kClosed) return;
    if (self->core_->tls()) return self->close();
    self->refuse(503, "The server has too many connections; try again later.");
  });
}

void ServerSession::close_soon() {
  boost::asio::post(strand_, [self = shared_from_this()] { self->close(); });
}

void ServerSession::flush_soon() {
  core_->post(strand_, [self = shared_from_this()] { self->flush(); });
}

void ServerSession::abort_connection_soon() {
  core_->post(strand_, [self = shared_from_this()] { self->close(); });
}

bool ServerSession::mark_authenticated(const ConnectionOwner& owner) {
  if (!is_unauthenticated_) return true;
  if (!core_->mark_authenticated(shared_from_this(), owner)) return false;
  is_unauthenticated_ = false;
  return true;
}

// --- Reading requests

void ServerSession::begin_request() {
  parser_.emplace(core_->options.head_bytes_max, core_->options.body_bytes_max);
  has_sent_continue_ = false;
  phase_ = Phase::kIdle;
  set_read_deadline(core_->options.idle_deadline);
  if (!unparsed_.empty()) {
    phase_ = Phase::kInHead;
    set_read_deadline(core_->options.head_deadline);
    return feed_parser();
  }
  keep_reading();
}

void ServerSession::feed_parser() {
  switch (parser_->feed(unparsed_)) {
    case RequestParser::State::kRefused:
      return refuse(parser_->refusal().status, parser_->refusal().reason);
    case RequestParser::State::kDone:
      return dispatch();
    case RequestParser::State::kInBody:
      if (phase_ == Phase::kInHead) {
        phase_ = Phase::kInBody;
        set_read_deadline(core_->options.body_deadline);
      }
      if (parser_->wants_continue()) send_continue();
      break;
    case RequestParser::State::kInHead:
      break;
  }
  keep_reading();
}

void ServerSession::send_continue() {
  if (std::exchange(has_sent_continue_, true)) return;
  reply_buffer_ = std::make_shared<ReplyBuffer>();
  reply_buffer_->put("HTTP/1.1 100 Continue\r\n\r\n", false);
  flush();
}

void ServerSession::dispatch() {
  phase_ = Phase::kReplying;
  clear_deadline();
  if (is_unauthenticated_) core_->set_has_running_request(shared_from_this(), true);
  // A client of HTTP/1.0 gets one reply without chunks.
  keeps_alive_ = parser_->keeps_alive() && parser_->is_http_1_1();
  reply_buffer_ = std::make_shared<ReplyBuffer>();
  auto responder = make_responder(reply_buffer_, weak_from_this(), {keeps_alive_, parser_->is_head_request()},
                                  parser_->is_http_1_1());
  auto request = parser_->take_request();
  request.peer = peer_.address_with_port;
  parser_.reset();
  // The handler does not run on the strand, because the connection must be served while the handler runs.
  boost::asio::post(core_->io,
                    [core = core_, request = std::move(request), responder = std::move(responder)]() mutable {
                      if (core->is_stopping()) return;
                      try {
                        core->handler(std::move(request), std::move(responder));
                      } catch (...) {
                        // The responder was destroyed and has answered 500. Do not log the exception, because
                        // it may contain secrets.
                      }
                    });
  keep_reading();
}

void ServerSession::refuse(int status, const std::string& reason) {
  phase_ = Phase::kReplying;
  keeps_alive_ = false;
  reply_buffer_ = std::make_shared<ReplyBuffer>();
  reply_buffer_->put(
      write_reply({status, {{"Content-Type", "text/plain"}}, reason + "\n"}, {.keeps_alive = false}), true);
  flush();
}

void ServerSession::keep_reading() {
  if (is_reading_ || has_input_ended_ || phase_ == Phase::kClosed || phase_ == Phase::kLingering) return;
  if (phase_ == Phase::kReplying && unparsed_.size() > kReadAheadBytesMax) return;
  is_reading_ = true;
  socket_->read_some(boost::asio::buffer(input_),
                     [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
                       self->on_read(error, size);
                     });
}

void ServerSession::on_read(const boost::system::error_code& error, std::size_t size) {
  is_reading_ = false;
  if (phase_ == Phase::kClosed) return;
  if (error) return on_end_of_input(error);
  if (phase_ == Phase::kLingering) return discard_input();
  unparsed_.append(input_.data(), size);
  if (phase_ == Phase::kReplying) return keep_reading();
  if (phase_ == Phase::kIdle) {
    phase_ = Phase::kInHead;
    set_read_deadline(core_->options.head_deadline);
  }
  feed_parser();
}

void ServerSession::on_end_of_input(const boost::system::error_code& error) {
  has_input_ended_ = true;
  const bool is_orderly =
      error == boost::asio::error::eof || error == boost::asio::ssl::error::stream_truncated;
  // A client that has closed only its sending half still reads replies. We try to send the reply; the write
  // fails if the client has closed the connection.
  if (phase_ == Phase::kReplying && is_orderly) {
    if (reply_buffer_) reply_buffer_->mark_abandoned();
    return;
  }
  close();
}

// --- Writing replies

void ServerSession::flush() {
  if (is_writing_ || !reply_buffer_ || phase_ == Phase::kClosed || phase_ == Phase::kLingering) return;
  if (auto piece = reply_buffer_->next()) {
    write_buffer_ = std::move(*piece);
    written_bytes_ = 0;
    is_writing_ = true;
    return write_remaining_bytes();
  }
  if (phase_ == Phase::kReplying && reply_buffer_->is_sent()) on_reply_sent();
}

void ServerSession::write_remaining_bytes() {
  if (phase_ == Phase::kReplying) set_write_deadline();
  socket_->write_some(boost::asio::buffer(write_buffer_) + written_bytes_,
                      [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
                        self->on_written(error, size);
                      });
}

void ServerSession::on_written(const boost::system::error_code& error, std::size_t size) {
  is_writing_ = false;
  if (phase_ == Phase::kClosed) return;
  if (error) return close();
  written_bytes_ += size;
  if (written_bytes_ < write_buffer_.size()) {
    is_writing_ = true;
    return write_remaining_bytes();
  }
  write_buffer_.clear();
  if (phase_ == Phase::kReplying) clear_deadline();
  flush();
}

void ServerSession::on_reply_sent() {
  reply_buffer_.reset();
  reply_deadline_.reset();
  if (is_unauthenticated_) {
    core_->set_has_running_request(shared_from_this(), false);
    unauthenticated_deadline_ =
        SteadyClock::now() + to_steady_duration(core_->options.unauthenticated_deadline);
  }
  if (keeps_alive_ && !has_input_ended_) return begin_request();
  linger();
}

// --- The end

void ServerSession::linger() {
  phase_ = Phase::kLingering;
  set_deadline(kLingerTime);
  boost::system::error_code ignored;
  socket_->tcp().shutdown(ServerTcp::shutdown_send, ignored);
  if (has_input_ended_) return close();
  if (!is_reading_) discard_input();
}

// Reads from the TCP socket without decryption, because the input is discarded.
void ServerSession::discard_input() {
  is_reading_ = true;
  socket_->tcp().async_read_some(
      boost::asio::buffer(input_),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
        self->on_read(error, size);
      });
}

void ServerSession::close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  clear_deadline();
  boost::system::error_code ignored;
  socket_->tcp().close(ignored);
  if (reply_buffer_) reply_buffer_->close();
  core_->remove(shared_from_this());
}

void ServerSession::set_deadline(Duration from_now) {
  wait_until(SteadyClock::now() + to_steady_duration(from_now));
}

void ServerSession::set_write_deadline() {
  const auto now = SteadyClock::now();
  const auto until = now + to_steady_duration(core_->options.write_deadline);
  if (const auto& limit = core_->options.reply_deadline; limit && !reply_deadline_)
    reply_deadline_ = now + to_steady_duration(*limit);
  wait_until(reply_deadline_ ? std::min(until, *reply_deadline_) : until);
}

void ServerSession::set_read_deadline(Duration from_now) {
  const auto until = SteadyClock::now() + to_steady_duration(from_now);
  wait_until(is_unauthenticated_ ? std::min(until, unauthenticated_deadline_) : until);
}

void ServerSession::wait_until(SteadyClock::time_point deadline) {
  deadline_ = deadline;
  timer_.expires_at(*deadline_);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    // Check the deadline, because the timer calls this handler at the old time even if the deadline was moved
    // to a later time.
    if (!error && self->deadline_ && SteadyClock::now() >= *self->deadline_) self->on_deadline();
  });
}

void ServerSession::clear_deadline() {
  deadline_.reset();
  timer_.cancel();
}

void ServerSession::on_deadline() {
  deadline_.reset();
  switch (phase_) {
    case Phase::kInHead:
      return refuse(408, "The head of the request did not arrive in time.");
    case Phase::kInBody:
      return refuse(408, "The body of the request did not arrive in time.");
    case Phase::kHandshaking:
    case Phase::kIdle:
    case Phase::kReplying:
    case Phase::kLingering:
    case Phase::kClosed:
      return close();
  }
}

}  // namespace ratoon::http
