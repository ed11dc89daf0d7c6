// A listening socket of loopback, plain connections to it, and the messages of a rank that proves itself on a
// connection.
#pragma once

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "agent/src/board/client.h"
#include "agent/src/board/handshake.h"
#include "base/core/unique_fd.h"

namespace ratoon::board::test {

inline constexpr std::uint32_t kWorld = 64;

inline std::string secret_of(std::uint64_t attempt) {
  return std::string(kSecretBytesMin, 's') + std::to_string(attempt);
}
inline ServedAttempt opening_of(std::uint64_t attempt) {
  return {.attempt = attempt, .world_size = kWorld, .secret = secret_of(attempt)};
}

class BoardPlace : public testing::Test {
 protected:
  BoardPlace()
      : address_(read_ip("127.0.0.1", 0).value()),
        listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_EQ(::bind(listening_.get(), address_.get(), address_.size), 0);
    EXPECT_EQ(::listen(listening_.get(), SOMAXCONN), 0);
    EXPECT_EQ(::getsockname(listening_.get(), address_.get(), &address_.size), 0);
  }

  // A plain connection.
  [[nodiscard]] UniqueFd knock() const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), address_.get(), address_.size), 0);
    return fd;
  }
  // Does the same from this address of the machine.
  [[nodiscard]] UniqueFd knock_from(const char* own) const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const SocketAddress from = read_ip(own, 0).value();
    EXPECT_EQ(::bind(fd.get(), from.get(), from.size), 0);
    EXPECT_EQ(::connect(fd.get(), address_.get(), address_.size), 0);
    return fd;
  }
  static bool say(const UniqueFd& fd, std::string_view bytes) {
    return ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  static Hello hello_of(std::uint32_t rank = 0, std::uint64_t attempt = 1) {
    return {.attempt = attempt, .rank = rank, .nonce = std::string(2 * kNonceBytes, 'r')};
  }
  // The answer of a rank with the secret to this challenge.
  static Frame proof_to(const Frame& challenge, const Hello& hello, const std::string& secret) {
    return make_frame(Op::kProve, hello.attempt,
                      {compute_proof(HandshakeSide::kRank, secret, hello,
                                     challenge.words.empty() ? "" : challenge.words[0])});
  }

  SocketAddress address_;
  UniqueFd listening_;
};

}  // namespace ratoon::board::test
