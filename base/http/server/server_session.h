// One connection of a client: reads a request, calls the handler, writes the reply, and repeats. All code of
// a session runs on its strand (Asio's serial executor), except the methods of ReplyConnection.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/steady_timer.hpp>

#include "base/http/server/make_responder.h"
#include "base/http/server/request_parser.h"
#include "base/http/server/server_core.h"

namespace ratoon::http {

struct Peer {
  std::string address = "unknown";
  std::string address_with_port = "unknown";
};

class ServerSession final : public ReplyConnection, public std::enable_shared_from_this<ServerSession> {
 public:
  ServerSession(std::shared_ptr<ServerCore> core, ServerTcp socket);

  void start();
  // Answers 503 to any request, because the server has too many connections.
  void start_refusing();
  void close_soon();  // works also while the server stops
  [[nodiscard]] const std::string& address() const { return peer_.address; }

  void flush_soon() override;
  void abort_connection_soon() override;
  bool mark_authenticated(const ConnectionOwner& owner) override;
  void begin_blocking() override { core_->begin_blocking(); }
  void end_blocking() override { core_->end_blocking(); }

 private:
  enum class Phase { kHandshaking, kIdle, kInHead, kInBody, kReplying, kLingering, kClosed };

  void begin_request();
  void feed_parser();
  void dispatch();
  void refuse(int status, const std::string& reason);
  void send_continue();

  void keep_reading();
  void on_read(const boost::system::error_code& error, std::size_t size);
  void on_end_of_input(const boost::system::error_code& error);

  void flush();
  void write_remaining_bytes();
  void on_written(const boost::system::error_code& error, std::size_t size);
  void on_reply_sent();

  void linger();
  void discard_input();
  void close();

  void set_deadline(Duration from_now);
  void set_write_deadline();
  // Sets the deadline for the next part of a request; an unauthenticated connection gets an earlier deadline.
  void set_read_deadline(Duration from_now);
  void wait_until(std::chrono::steady_clock::time_point deadline);
  void clear_deadline();
  void on_deadline();

  const std::shared_ptr<ServerCore> core_;
  const Strand strand_;
  const std::unique_ptr<ServerSocket> socket_;
  boost::asio::steady_timer timer_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::atomic<bool> is_unauthenticated_;
  std::chrono::steady_clock::time_point unauthenticated_deadline_;  // deadline of an unauthenticated request
  std::optional<std::chrono::steady_clock::time_point> reply_deadline_;  // deadline of the current reply
  const Peer peer_;

  Phase phase_ = Phase::kHandshaking;
  std::optional<RequestParser> parser_;
  std::array<char, 4096> input_;
  std::string unparsed_;  // at most one read ahead of the current request
  bool is_reading_ = false;
  bool has_input_ended_ = false;
  bool has_sent_continue_ = false;

  std::shared_ptr<ReplyBuffer> reply_buffer_;
  std::string write_buffer_;
  std::size_t written_bytes_ = 0;
  bool is_writing_ = false;
  bool keeps_alive_ = true;
};

}  // namespace ratoon::http
