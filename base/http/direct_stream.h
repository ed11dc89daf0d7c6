// DirectStream: a connection, with or without TLS, that is read and written by the thread that needs it.
// There is one place where it waits: for the connection, for the bounds of a call and for whoever stops it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/unique_fd.h"
#include "base/http/tls_client.h"
#include "base/http/wakeup.h"

namespace ratoon::http {

// Why a stream could not go on.
struct Interruption {
  enum class Cause { kStopped, kLate, kSilent, kBroken };
  Cause cause = Cause::kBroken;
  std::string problem{};  // kBroken: in words, and errno or OpenSSL's packed code
  int code = 0;
};

class DirectStream {
 public:
  // A connected socket that does not block.
  explicit DirectStream(UniqueFd socket);
  ~DirectStream();
  DirectStream(const DirectStream&) = delete;
  DirectStream& operator=(const DirectStream&) = delete;

  struct Bounds {
    std::optional<std::chrono::steady_clock::time_point> deadline;
    Duration silence{0};  // 0: none
    std::stop_token stop;
  };
  // For all that follows, from now on.
  void set_bounds(Bounds bounds);
  // Wakes it, from any thread: it looks whether it is to stop.
  void notify() const { wakeup_.notify(); }
  // What its user did meanwhile was not the other side's silence.
  void forget_silence();

  // TLS from here on.
  [[nodiscard]] std::optional<Interruption> shake_hands(std::shared_ptr<const TlsClient> tls,
                                                        const std::string& expected_name);
  [[nodiscard]] bool is_secured() const { return tls_ != nullptr; }

  [[nodiscard]] std::optional<Interruption> write(std::string_view bytes);

  struct Read {
    std::size_t size = 0;  // 0: the other side has ended the connection, in order
    std::optional<Interruption> interruption{};
  };
  [[nodiscard]] Read read(std::span<char> into);

  [[nodiscard]] bool is_usable() const { return wakeup_.is_usable(); }
  [[nodiscard]] bool has_read_ahead() const;  // bytes that nobody has asked for yet
  [[nodiscard]] std::uint64_t received_bytes() const { return received_bytes_; }
  [[nodiscard]] std::uint64_t sent_bytes() const { return sent_bytes_; }
  [[nodiscard]] int socket() const { return socket_.get(); }
  // Why the other side's certificate was refused, or empty.
  [[nodiscard]] const std::string& certificate_problem() const { return peer_.problem; }
  [[nodiscard]] const std::string& expected_name() const { return peer_.expected_name; }

 private:
  struct Tls;
  using TimePoint = std::chrono::steady_clock::time_point;

  [[nodiscard]] std::optional<Interruption> wait(short events);
  [[nodiscard]] bool is_silent(TimePoint now);
  // Waits for what a call of OpenSSL that returned `result` asks for.
  [[nodiscard]] std::optional<Interruption> wait_for_tls(int result);

  UniqueFd socket_;
  Wakeup wakeup_;
  Bounds bounds_;
  TimePoint last_byte_;
  TimePoint next_look_;  // at what the other side has acknowledged
  std::uint64_t acked_bytes_ = 0;
  std::uint64_t received_bytes_ = 0;
  std::uint64_t sent_bytes_ = 0;
  TlsPeer peer_;
  std::unique_ptr<Tls> tls_;
};

}  // namespace ratoon::http
