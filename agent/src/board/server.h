// board/: The board: a small key-value store that rank 0 serves to the ranks of its attempt.
//
// Server: the board on which the ranks of an attempt store values for each other. Rank 0 runs the server on
// its own thread. A connection must first prove that it has the attempt's secret. Before the proof a
// connection can do nothing else, and the memory, descriptors and time of all unproven connections are
// limited. The memory for values is limited too, per rank and in total. A connection that breaks the protocol
// is closed.
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
  // The caller keeps `listening_fd` and must not accept on it; the server makes it non-blocking. The server's
  // thread passes one message to `tell` when connections are refused for the first time.
  using Tell = std::function<void(const std::string& sentence)>;
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(int listening_fd, Tell tell = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Starts an attempt. Values of older attempts are removed soon; requests of older attempts are refused.
  // Raises the limit of open files as the world needs, up to the hard limit. May be called from any thread.
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
