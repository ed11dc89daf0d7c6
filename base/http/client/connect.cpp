#include "base/http/client/connect.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/core/threads/mutex.h"
#include "base/http/wakeup.h"

namespace ratoon::http {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A DNS lookup, which may outlive its caller because the system's resolver cannot be interrupted.
struct NameLookup {
  Mutex mutex;
  std::string problem RATOON_GUARDED_BY(mutex);
  std::vector<ServerAddress> addresses RATOON_GUARDED_BY(mutex);
  Wakeup wakeup;
};

class ConnectAttempt {
 public:
  ConnectAttempt(const Url& url, Duration within, const std::stop_token& stop, ResolveName resolve)
      : url_(url), stop_(stop), resolve_(resolve), notify_(stop, [this] { stopped_.notify(); }) {
    if (within > Duration::zero()) deadline_ = SteadyClock::now() + within;
  }

  Result<UniqueFd> run() {
    if (!stopped_.is_usable()) return system_error(EMFILE, "waiting for a connection to " + url_.shown);
    auto addresses = find_addresses();
    if (!addresses) return addresses.error();
    std::optional<Error> problem;
    for (std::size_t i = 0; i < addresses->size(); ++i) {
      auto connected = try_address((*addresses)[i], addresses->size() - i);
      if (connected || connected.error().kind() == ErrorKind::kCancelled) return connected;
      problem = connected.error();
    }
    return *problem;
  }

 private:
  Result<std::vector<ServerAddress>> find_addresses();
  Result<std::vector<ServerAddress>> look_up();
  Result<UniqueFd> try_address(const ServerAddress& address, std::size_t addresses_left);
  Result<void> wait_for(int fd, short events, std::optional<SteadyClock::time_point> until);

  Error failed(ErrorKind kind, const std::string& how) const {
    return {kind, "connecting to " + url_.host_header + " for " + url_.shown + " " + how};
  }

  const Url& url_;
  const std::stop_token& stop_;
  const ResolveName resolve_;
  Wakeup stopped_;
  std::optional<SteadyClock::time_point> deadline_;
  std::stop_callback<std::function<void()>> notify_;
};

std::optional<ServerAddress> parse_address(const Url& url) {
  ServerAddress address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  if (inet_pton(AF_INET, url.host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(url.port);
    address.size = sizeof *v4;
    return address;
  }
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET6, url.host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(url.port);
    address.size = sizeof *v6;
    return address;
  }
  return std::nullopt;
}

Result<std::vector<ServerAddress>> ConnectAttempt::find_addresses() {
  if (stop_.stop_requested()) return failed(ErrorKind::kCancelled, "was cancelled");
  if (auto address = parse_address(url_)) return std::vector<ServerAddress>{*address};
  return look_up();
}

Result<std::vector<ServerAddress>> ConnectAttempt::look_up() {
  auto lookup = std::make_shared<NameLookup>();
  resolve_(url_, [lookup](std::vector<ServerAddress> addresses, std::string problem) {
    const MutexLock lock(lookup->mutex);
    lookup->problem = std::move(problem);
    lookup->addresses = std::move(addresses);
    lookup->wakeup.notify();
  });
  if (auto waited = wait_for(lookup->wakeup.fd(), POLLIN, deadline_); !waited) return waited.error();
  const MutexLock lock(lookup->mutex);
  if (lookup->addresses.empty()) {
    return failed(ErrorKind::kUnavailable, "failed: no address was found for that name (" + lookup->problem +
                                               "); check the name and the resolver");
  }
  return lookup->addresses;
}

// Waits until `fd` is ready, the time is over or the call is cancelled.
Result<void> ConnectAttempt::wait_for(int fd, short events, std::optional<SteadyClock::time_point> until) {
  while (true) {
    int timeout_ms = -1;
    if (until) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - SteadyClock::now()).count();
      if (left <= 0) {
        return failed(
            ErrorKind::kTimeout,
            "took longer than its time-out; check that the host is up and no firewall drops packets");
      }
      timeout_ms = static_cast<int>(std::min<long long>(left, 3'600'000));
    }
    pollfd entries[] = {{fd, events, 0}, {stopped_.fd(), POLLIN, 0}};
    if (::poll(entries, 2, timeout_ms) < 0 && errno != EINTR)
      return system_error(errno, "waiting for a connection");
    if (stop_.stop_requested()) return failed(ErrorKind::kCancelled, "was cancelled");
    if (entries[0].revents != 0) return {};
  }
}

void set_option(int fd, int level, int name, int value) {
  ::setsockopt(fd, level, name, &value, sizeof value);
}

Result<UniqueFd> ConnectAttempt::try_address(const ServerAddress& address, std::size_t addresses_left) {
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return system_error(errno, "making a socket for " + url_.shown);
  set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  // TCP keepalive detects within 20 s that the peer has lost power, even while a watch waits for events. It
  // does not end the connection to a peer that only reads slowly.
  set_option(fd.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd.get(), IPPROTO_TCP, TCP_KEEPIDLE, 8);
  set_option(fd.get(), IPPROTO_TCP, TCP_KEEPINTVL, 4);
  set_option(fd.get(), IPPROTO_TCP, TCP_KEEPCNT, 3);

  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0 &&
      errno != EINPROGRESS) {
    return failed(ErrorKind::kUnavailable, std::string("failed: ") + std::strerror(errno));
  }
  // Each address gets only a part of the time, so that a dead address leaves time to try the next ones.
  auto until = deadline_;
  if (until) {
    const auto now = SteadyClock::now();
    until = now + (*until - now) / static_cast<long>(addresses_left);
  }
  if (auto waited = wait_for(fd.get(), POLLOUT, until); !waited) return waited.error();
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    return failed(ErrorKind::kUnavailable, std::string("failed: ") + std::strerror(error) +
                                               "; check that the server runs and listens at this address");
  }
  return fd;
}

}  // namespace

Result<UniqueFd> connect_to(const Url& url, Duration within, const std::stop_token& stop,
                            ResolveName resolve) {
  return ConnectAttempt(url, within, stop, resolve).run();
}

}  // namespace ratoon::http
