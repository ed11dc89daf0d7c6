// Server: the board where the ranks of an attempt leave notes for each other, kept by rank 0 on a thread of
// its own. It trusts nobody who connects: what it holds for all of them together is bounded, and whoever
// breaks the protocol is hung up on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include <ratoon/result.h>

#include "base/core/unique_fd.h"

namespace ratoon::board {

class Server {
 public:
  // `listening_fd` stays the caller's, who must not accept on it meanwhile; it becomes non-blocking.
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(int listening_fd);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // What belongs to older attempts is dropped soon, and refused from then on. From any thread.
  void begin(std::uint64_t attempt);

 private:
  Server(UniqueFd listening, UniqueFd wakeup, UniqueFd events);

  void wake() const;
  void run();

  UniqueFd listening_;
  UniqueFd wakeup_;
  UniqueFd events_;  // epoll
  std::atomic<std::uint64_t> attempt_ = 0;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

}  // namespace ratoon::board
