// A TCP server whose every connection runs a script, for replies that no proper server would give.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/conformance/support/raw_socket.h"

namespace ratoon::http::testing {

class ScriptedServer {
 public:
  // Called once a connection, in a thread of its own, with the connection and its number (from 1 on). The
  // connection is closed when the script returns.
  using Script = std::function<void(RawSocket& peer, int number)>;

  explicit ScriptedServer(Script script);
  // Ends all connections and waits for their scripts.
  ~ScriptedServer();

  [[nodiscard]] std::uint16_t port() const { return listener_.port; }
  [[nodiscard]] std::string url(const std::string& path = "/") const;
  [[nodiscard]] int connection_count() const { return connection_count_; }

 private:
  void accept_all();

  Listener listener_;
  Script script_;
  std::atomic<int> connection_count_{0};
  std::atomic<bool> is_stopping_{false};
  std::mutex mutex_;
  std::vector<int> open_;             // guarded by mutex_
  std::vector<std::thread> scripts_;  // guarded by mutex_
  std::thread acceptor_;
};

// Reads one request's head and sends `reply`, then holds the connection until the client closes it.
ScriptedServer::Script answering(std::string reply);

}  // namespace ratoon::http::testing
