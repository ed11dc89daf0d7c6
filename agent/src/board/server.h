// board/: Implements the board, a small key-value store that rank 0 serves to the ranks of its attempt.
//
// Server: the board on which the ranks of an attempt store values for each other. Rank 0 runs the server on
// its own thread. A client must first prove that it has the attempt's secret. Until a client has proved that
// it has the secret, the server executes none of its other requests, and gives it only limited memory,
// descriptors and time. The memory for stored values is limited per rank and in total. A connection on which
// a client breaks the protocol is closed.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <ratoon/result.h>

#include "agent/src/board/handshake.h"
#include "base/core/clock.h"
#include "base/core/threads/mutex.h"
#include "base/core/unique_fd.h"

namespace ratoon::board {

class Server {
 public:
  // The caller still owns `listening_fd` and must not call accept() on it. The server makes `listening_fd`
  // non-blocking. The server's thread calls `tell` with one message when a connection is refused for the
  // first time.
  using ReportFunction = std::function<void(const std::string& sentence)>;
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(int listening_fd, ReportFunction tell = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Starts an attempt. Soon after begin_attempt(), the server removes the values of older attempts, and
  // refuses requests of ranks in older attempts. Raises the process's limit of open files as far as the
  // number of ranks requires, up to the hard limit. Any thread may call begin_attempt().
  void begin_attempt(const ServedAttempt& served_attempt);

 private:
  Server(UniqueFd listening, UniqueFd wakeup, UniqueFd events, ReportFunction tell);

  void wake() const;
  [[nodiscard]] ServedAttempt newest_attempt();
  void run();

  UniqueFd listening_fd_;
  UniqueFd wakeup_fd_;
  UniqueFd epoll_fd_;  // epoll
  const ReportFunction report_;
  const SystemClock clock_{};
  Mutex mutex_;
  ServedAttempt served_attempt_ RATOON_GUARDED_BY(mutex_) = {};  // the newest
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

}  // namespace ratoon::board
