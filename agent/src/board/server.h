// Server: the board where the ranks of an attempt leave notes for each other, kept by rank 0 on a thread of
// its own. A connection is first to prove that it has the attempt's secret; until then it can do nothing but
// that, and what all such connections take of memory, descriptors and time is bounded. What it holds for the
// ranks is bounded, too, each rank's and all of it, and a connection that breaks the protocol is hung up on.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <ratoon/result.h>

#include "agent/src/board/handshake.h"
#include "base/core/clock.h"
#include "base/core/unique_fd.h"

namespace ratoon::board {

class Server {
 public:
  // `listening_fd` stays the caller's, who must not accept on it meanwhile; it becomes non-blocking. `tell`
  // is given a sentence, once, by the server's thread, when connections are refused.
  using Tell = std::function<void(const std::string& sentence)>;
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(int listening_fd, Tell tell = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // What belongs to older attempts is dropped soon, and refused from then on. This process may have as many
  // files open as the world needs, within the hard limit. From any thread.
  void begin(const Opening& opening);

 private:
  Server(UniqueFd listening, UniqueFd wakeup, UniqueFd events, Tell tell);

  void wake() const;
  [[nodiscard]] Opening newest();
  void run();

  UniqueFd listening_;
  UniqueFd wakeup_;
  UniqueFd events_;  // epoll
  const Tell tell_;
  const SystemClock clock_{};
  std::mutex mutex_;
  Opening opening_{};  // the newest; guarded by mutex_
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

}  // namespace ratoon::board
