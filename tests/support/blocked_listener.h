// A peer to which no connection is possible, as behind a cut in the network: it listens with a full queue and
// accepts nothing, so that the kernel drops each further request.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/core/unique_fd.h"

namespace ratoon::test {

class BlockedListener {
 public:
  BlockedListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at = loopback(0);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(fd_.get(), 0), 0);
    EXPECT_EQ(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
    port_ = ntohs(at.sin_port);
    block();
  }

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  // Fills the queue.
  void block() {
    constexpr int kQueueMax = 16;
    for (int i = 0; i < kQueueMax; ++i) {
      held_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      const sockaddr_in at = loopback(port_);
      if (::connect(held_.back().get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) continue;
      constexpr int kAnsweredWithinMs = 200;
      pollfd connects{.fd = held_.back().get(), .events = POLLOUT, .revents = 0};
      if (::poll(&connects, 1, kAnsweredWithinMs) == 0) return;
    }
    ADD_FAILURE() << "the queue of a listener does not fill up";
  }

  // From now on the kernel answers; the queue is as long as it may be.
  void unblock() {
    held_.clear();
    EXPECT_EQ(::listen(fd_.get(), SOMAXCONN), 0);
  }

 private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    return at;
  }

  UniqueFd fd_;
  std::uint16_t port_ = 0;
  std::vector<UniqueFd> held_;
};

}  // namespace ratoon::test
