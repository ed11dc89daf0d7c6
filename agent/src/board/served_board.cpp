#include "agent/src/board/served_board.h"

#include <map>
#include <memory>
#include <utility>

#include "base/core/threads/mutex.h"

namespace ratoon::board {

Result<void> serve_board(std::uint16_t port, int listening_fd, const ServedAttempt& served_attempt,
                         const Server::ReportFunction& tell) {
  static Mutex mutex;
  static std::map<std::uint16_t, std::unique_ptr<Server>> servers;  // by port; used with mutex locked
  const MutexLock lock(mutex);
  auto& server = servers[port];
  if (!server) {
    auto started = Server::start(listening_fd, tell);
    if (!started) return started.error();
    server = *std::move(started);
  }
  server->begin_attempt(served_attempt);
  return {};
}

}  // namespace ratoon::board
