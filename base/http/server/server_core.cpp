#include "base/http/server/server_core.h"

#include <algorithm>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "base/http/server/server_session.h"

namespace ratoon::http {
namespace {

constexpr std::size_t kSpareThreadsMax = 64;

}  // namespace

ServerCore::ServerCore(ServerOptions given_options, Handler given_handler,
                       std::shared_ptr<boost::asio::ssl::context> context)
    : options(std::move(given_options)),
      handler(std::move(given_handler)),
      work_guard_(boost::asio::make_work_guard(io)),
      tls_(std::move(context)),
      unauthenticated_connections_(
          std::max<std::size_t>(options.unauthenticated_connections_max.value_or(1), 1)),
      connections_by_owner_(options.tenant_connections_max) {}

ServerCore::~ServerCore() = default;

void ServerCore::start_threads() {
  const MutexLock lock(mutex_);
  for (int i = 0; i < std::max(options.threads, 1); ++i) add_thread();
}

void ServerCore::add_thread() {
  threads_.emplace_back([this] { io.run(); });
}

void ServerCore::stop(const std::function<void()>& close_acceptor) {
  const MutexLock join_lock(join_mutex_);
  std::unordered_set<std::shared_ptr<ServerSession>> sessions;
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
    sessions = sessions_;
  }
  close_acceptor();
  for (const auto& session : sessions) session->close_soon();
  sessions.clear();
  work_guard_.reset();  // from now on a thread ends when it finds nothing more to do
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    threads.swap(threads_);
  }
  for (auto& thread : threads) thread.join();
}

bool ServerCore::add(const std::shared_ptr<ServerSession>& session) {
  const MutexLock lock(mutex_);
  if (is_stopping_) return false;
  if (options.unauthenticated_connections_max) {
    const auto leaving =
        unauthenticated_connections_.add(session, session->address(), std::chrono::steady_clock::now());
    if (leaving == session) return false;
    if (leaving) leaving->close_soon();
  }
  sessions_.insert(session);
  return true;
}

bool ServerCore::add_for_refusal(const std::shared_ptr<ServerSession>& session) {
  const MutexLock lock(mutex_);
  if (!is_stopping_) sessions_.insert(session);
  return !is_stopping_;
}

void ServerCore::remove(const std::shared_ptr<ServerSession>& session) {
  const MutexLock lock(mutex_);
  sessions_.erase(session);
  unauthenticated_connections_.remove(session);
  connections_by_owner_.remove(session);
}

void ServerCore::set_has_running_request(const std::shared_ptr<ServerSession>& session,
                                         bool has_running_request) {
  const MutexLock lock(mutex_);
  unauthenticated_connections_.set_has_running_request(session, has_running_request);
}

bool ServerCore::mark_authenticated(const std::shared_ptr<ServerSession>& session,
                                    const ConnectionOwner& owner) {
  const MutexLock lock(mutex_);
  // If the connection was closed in the meantime, it is not in the list of connections any longer.
  if (!sessions_.contains(session)) return true;
  if (!connections_by_owner_.has_room(owner.tenant)) return false;
  unauthenticated_connections_.remove(session);
  if (const auto leaving = connections_by_owner_.add(session, owner)) leaving->close_soon();
  return true;
}

std::size_t ServerCore::session_count() const {
  const MutexLock lock(mutex_);
  return sessions_.size();
}

bool ServerCore::is_stopping() const {
  const MutexLock lock(mutex_);
  return is_stopping_;
}

std::shared_ptr<boost::asio::ssl::context> ServerCore::tls() const {
  const MutexLock lock(mutex_);
  return tls_;
}

void ServerCore::renew(std::shared_ptr<boost::asio::ssl::context> tls) {
  const MutexLock lock(mutex_);
  tls_ = std::move(tls);
}

void ServerCore::post(const Strand& strand, std::function<void()> work) {
  // The lock keeps stop() from ending the threads between the check of is_stopping_ and post().
  const MutexLock lock(mutex_);
  if (!is_stopping_) boost::asio::post(strand, std::move(work));
}

void ServerCore::begin_blocking() {
  if (!io.get_executor().running_in_this_thread()) return;
  const MutexLock lock(mutex_);
  ++blocked_threads_;
  const auto most = static_cast<std::size_t>(std::max(options.threads, 1)) + kSpareThreadsMax;
  if (!is_stopping_ && blocked_threads_ >= threads_.size() && threads_.size() < most) add_thread();
}

void ServerCore::end_blocking() {
  if (!io.get_executor().running_in_this_thread()) return;
  const MutexLock lock(mutex_);
  --blocked_threads_;
}

}  // namespace ratoon::http
