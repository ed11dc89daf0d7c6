// Blocking loopback sockets for tests that must misbehave in exact ways. Every read gives up after a while,
// so that a failing test ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/unique_fd.h"
#include "tests/conformance/support/measures.h"

namespace ratoon::http::testing {

class RawSocket {
 public:
  explicit RawSocket(UniqueFd fd) : fd_(std::move(fd)) {}
  // From that address of loopback: all of 127.0.0.0/8 are.
  static RawSocket connect_to(std::uint16_t port, const char* from = "127.0.0.1");

  // False once the other side has gone.
  bool send(std::string_view bytes) const;
  // Sends `piece` again and again; how much of `total_bytes` went out.
  std::size_t send_flood(std::string_view piece, std::size_t total_bytes) const;

  // Everything up to and with `end`; less when the connection ends or nothing comes for `patience`.
  std::string read_until(std::string_view end, std::chrono::milliseconds patience = kPatience);
  std::string read_exactly(std::size_t size, std::chrono::milliseconds patience = kPatience);
  // Everything up to the connection's end; `has_ended` says whether that came in time.
  std::string read_to_end(std::chrono::milliseconds patience = kPatience);
  [[nodiscard]] bool has_ended() const { return has_ended_; }

  void close_writing() const;
  // Until the other side's kernel has all that was sent, the end of the connection included: its program
  // finds it at its next look. False where that does not come.
  [[nodiscard]] bool wait_until_received() const;
  void reset();  // closes with RST
  void close() { fd_.reset(); }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  bool receive(std::chrono::milliseconds patience);

  UniqueFd fd_;
  std::string received_;
  bool has_ended_ = false;
};

// A port of loopback that is taken, and where connections are refused.
struct ClosedPort {
  ClosedPort();
  UniqueFd fd;
  std::uint16_t port = 0;
};

// A socket that listens on loopback; 0 as backlog and two connections make it deaf.
struct Listener : ClosedPort {
  explicit Listener(int backlog = 64);
};

}  // namespace ratoon::http::testing
