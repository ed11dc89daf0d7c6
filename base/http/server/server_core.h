// base/http/server/ reads requests from a server's connections and writes replies. ServerCore: the parts that
// the connections of one server share: its options, its threads and the list of connections. The core lives
// as long as the last connection object, so that a reply after the server's end does not use a destroyed
// core.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/core/threads/mutex.h"
#include "base/http/server/connections_by_owner.h"
#include "base/http/server/server_socket.h"
#include "base/http/server/unauthenticated_connections.h"

namespace ratoon::http {

class ServerSession;

class ServerCore {
 public:
  ServerCore(ServerOptions options, Handler handler, std::shared_ptr<boost::asio::ssl::context> tls);
  ~ServerCore();

  void start_threads();
  // Closes every connection and waits until all threads have ended. A second call of stop() waits until the
  // first call has ended.
  void stop(const std::function<void()>& close_acceptor);

  // Adds an unauthenticated connection. Returns false if the connection must not be started: the server
  // stops, or has too many unauthenticated connections. The core may close another connection to make room
  // for the new one.
  [[nodiscard]] bool add(const std::shared_ptr<ServerSession>& session);
  // Adds a connection that only gets the reply 503. Returns false if the server stops.
  [[nodiscard]] bool add_for_refusal(const std::shared_ptr<ServerSession>& session);
  void remove(const std::shared_ptr<ServerSession>& session);
  // Records whether the server is handling a request of this unauthenticated connection.
  void set_has_running_request(const std::shared_ptr<ServerSession>& session, bool has_running_request);
  // Returns false if the owner's tenant has too many connections.
  [[nodiscard]] bool mark_authenticated(const std::shared_ptr<ServerSession>& session,
                                        const ConnectionOwner& owner);
  [[nodiscard]] std::size_t session_count() const;
  [[nodiscard]] bool is_stopping() const;

  // Returns the TLS context for the next connection, or null for a server without TLS.
  [[nodiscard]] std::shared_ptr<boost::asio::ssl::context> tls() const;
  void renew(std::shared_ptr<boost::asio::ssl::context> tls);

  // Runs `work` on `strand` (Asio's serial executor); drops `work` if the server stops.
  void post(const Strand& strand, std::function<void()> work);

  // A handler that waits until the client reads its reply blocks one of the server's threads. When all
  // threads are blocked, a spare thread sends these handlers' replies.
  void begin_blocking();
  void end_blocking();

  const ServerOptions options;
  const Handler handler;
  boost::asio::io_context io;

 private:
  void add_thread() RATOON_REQUIRES(mutex_);

  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_guard_;
  mutable Mutex mutex_;
  std::shared_ptr<boost::asio::ssl::context> tls_ RATOON_GUARDED_BY(mutex_);
  bool is_stopping_ RATOON_GUARDED_BY(mutex_) = false;
  std::size_t blocked_threads_ RATOON_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_ RATOON_GUARDED_BY(mutex_);
  std::unordered_set<std::shared_ptr<ServerSession>> sessions_ RATOON_GUARDED_BY(mutex_);
  UnauthenticatedConnections unauthenticated_connections_ RATOON_GUARDED_BY(mutex_);
  ConnectionsByOwner connections_by_owner_ RATOON_GUARDED_BY(mutex_);
  Mutex join_mutex_;  // stop() locks it, and inside it mutex_
};

}  // namespace ratoon::http
