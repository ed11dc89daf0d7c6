// DirectStream: a connection, with or without TLS, that the calling thread itself reads and writes. The
// thread has only one wait, which ends for three reasons: the connection is ready, a time limit is over, or a
// stop was requested.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/unique_fd.h"
#include "base/http/tls/tls_client.h"
#include "base/http/wakeup.h"

namespace ratoon::http {

// The reason why a stream ended.
struct Interruption {
  enum class Cause { kStopped, kLate, kSilent, kBroken };
  Cause cause = Cause::kBroken;
  std::string problem{};  // only for kBroken: in words, and as errno or OpenSSL's packed code
  int code = 0;
};

class DirectStream {
 public:
  // `socket` is connected and does not block.
  explicit DirectStream(UniqueFd socket);
  ~DirectStream();
  DirectStream(const DirectStream&) = delete;
  DirectStream& operator=(const DirectStream&) = delete;

  struct Bounds {
    std::optional<std::chrono::steady_clock::time_point> deadline;
    Duration silence{0};  // 0: none
    std::stop_token stop;
  };
  // Sets the time limits and the stop token of all following calls.
  void set_bounds(Bounds bounds);
  // Wakes the waiting thread, from any thread, so that it checks for a stop request.
  void notify() const { wakeup_.notify(); }
  // Call restart_idle_timer() after work outside of the stream, so that the time of this work does not
  // count as the server's silence.
  void restart_idle_timer();

  // Uses TLS for the rest of the connection.
  [[nodiscard]] std::optional<Interruption> do_tls_handshake(std::shared_ptr<const TlsClient> tls,
                                                             const std::string& expected_name);
  [[nodiscard]] bool is_secured() const { return tls_ != nullptr; }

  [[nodiscard]] std::optional<Interruption> write(std::string_view bytes);

  struct Read {
    std::size_t size = 0;  // 0: the server has closed the connection properly
    std::optional<Interruption> interruption{};
  };
  [[nodiscard]] Read read(std::span<char> into);

  // Gives up the socket; the stream must not be used after that.
  [[nodiscard]] UniqueFd take_socket() { return std::move(socket_); }

  [[nodiscard]] bool is_usable() const { return wakeup_.is_usable(); }
  [[nodiscard]] bool has_unread_bytes() const;  // bytes that no call of read() has returned yet
  [[nodiscard]] std::uint64_t received_bytes() const { return received_bytes_; }
  [[nodiscard]] std::uint64_t sent_bytes() const { return sent_bytes_; }
  [[nodiscard]] int socket() const { return socket_.get(); }
  // Returns why this side refused the server's certificate, or an empty text.
  [[nodiscard]] const std::string& certificate_problem() const { return peer_.problem; }
  [[nodiscard]] const std::string& expected_name() const { return peer_.expected_name; }

 private:
  struct Tls;
  using TimePoint = std::chrono::steady_clock::time_point;

  [[nodiscard]] std::optional<Interruption> wait(short events);
  [[nodiscard]] bool has_idle_timed_out(TimePoint now);
  // Waits until the socket is ready for a repetition of the OpenSSL call that returned `result`.
  [[nodiscard]] std::optional<Interruption> wait_for_tls(int result);

  UniqueFd socket_;
  Wakeup wakeup_;
  Bounds bounds_;
  TimePoint last_byte_time_;
  TimePoint next_ack_check_;  // when to check the acknowledged bytes again
  std::uint64_t acked_bytes_ = 0;
  std::uint64_t received_bytes_ = 0;
  std::uint64_t sent_bytes_ = 0;
  TlsPeer peer_;
  std::unique_ptr<Tls> tls_;
};

}  // namespace ratoon::http
