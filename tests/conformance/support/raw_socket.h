// Blocking loopback sockets for tests that must break the protocol in exact ways. Every read gives up after a
// while, so that a failing test ends.
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
  // Connects from the given address of loopback: all of 127.0.0.0/8 are loopback addresses.
  static RawSocket connect_to(std::uint16_t port, const char* from = "127.0.0.1");

  // False once the other side has closed the connection.
  bool send(std::string_view bytes) const;
  // Sends `piece` again and again; returns how many of `total_bytes` were sent.
  std::size_t send_flood(std::string_view piece, std::size_t total_bytes) const;

  // Reads up to and with `end`; returns less if the connection ends or nothing arrives for `patience`.
  std::string read_until(std::string_view end, std::chrono::milliseconds patience = kPatience);
  std::string read_exactly(std::size_t size, std::chrono::milliseconds patience = kPatience);
  // Reads up to the connection's end; `has_ended` says whether the end came in time.
  std::string read_to_end(std::chrono::milliseconds patience = kPatience);
  [[nodiscard]] bool has_ended() const { return has_ended_; }

  void close_writing() const;
  // Waits until the other side's kernel has all sent bytes, the end of the connection included: its program
  // finds them at its next read. False if that does not happen in time.
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

// A port of loopback that is taken, and at which connections are refused.
struct ClosedPort {
  ClosedPort();
  UniqueFd fd;
  std::uint16_t port = 0;
};

// A socket that listens on loopback; with a backlog of 0, two connections make it accept no more.
struct Listener : ClosedPort {
  explicit Listener(int backlog = 64);
};

}  // namespace ratoon::http::testing
