// What the connections of one server share: its options, its threads and the list of who is connected. It
// lives as long as the last connection object does, so that a reply that comes after the server's end finds
// nothing destroyed.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/http/owners.h"
#include "base/http/server_socket.h"
#include "base/http/strangers.h"

namespace ratoon::http {

class ServerSession;

class ServerCore {
 public:
  ServerCore(ServerOptions options, Handler handler, std::shared_ptr<boost::asio::ssl::context> tls);
  ~ServerCore();

  void start_threads();
  // Cuts every connection and waits until all threads have run dry. Later calls wait for the first.
  void stop(const std::function<void()>& close_acceptor);

  // False: it must not be started, the server stops or has too many strangers. It is one itself, and another
  // one may be closed for it.
  [[nodiscard]] bool add(const std::shared_ptr<ServerSession>& session);
  // One that is only told that there is no room. False: the server stops.
  [[nodiscard]] bool add_to_refuse(const std::shared_ptr<ServerSession>& session);
  void remove(const std::shared_ptr<ServerSession>& session);
  // Of a stranger: whether a request of its is in work.
  void set_in_work(const std::shared_ptr<ServerSession>& session, bool is_in_work);
  void vouch_for(const std::shared_ptr<ServerSession>& session, const std::string& owner,
                 std::size_t connections_max);
  [[nodiscard]] std::size_t session_count() const;
  [[nodiscard]] bool is_stopping() const;

  // What the next connection is served with; null: plain.
  [[nodiscard]] std::shared_ptr<boost::asio::ssl::context> tls() const;
  void renew(std::shared_ptr<boost::asio::ssl::context> tls);

  // Runs `work` on that strand; drops it once the server stops.
  void post(const Strand& strand, std::function<void()> work);

  // A handler that waits for its reader blocks one of our threads. When all are blocked a spare one takes
  // over, since somebody must do the writing that they wait for.
  void begin_blocking();
  void end_blocking();

  const ServerOptions options;
  const Handler handler;
  boost::asio::io_context io;

 private:
  void add_thread();  // with mutex_ held

  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  mutable std::mutex mutex_;
  std::shared_ptr<boost::asio::ssl::context> tls_;               // guarded by mutex_
  bool is_stopping_ = false;                                     // guarded by mutex_
  std::size_t blocked_threads_ = 0;                              // guarded by mutex_
  std::vector<std::thread> threads_;                             // guarded by mutex_
  std::unordered_set<std::shared_ptr<ServerSession>> sessions_;  // guarded by mutex_
  Strangers strangers_;                                          // guarded by mutex_
  Owners owners_;                                                // guarded by mutex_
  std::mutex joining_;
};

}  // namespace ratoon::http
