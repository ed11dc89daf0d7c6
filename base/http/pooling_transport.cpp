#include "base/http/pooling_transport.h"

#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/core/threads/mutex.h"
#include "base/http/client/client_connection.h"
#include "base/http/client/connect.h"
#include "base/http/client/direct_connection.h"
#include "base/http/client/socket_counters.h"
#include "base/http/ip_literal_transport.h"
#include "base/http/proxy_tunnel.h"
#include "base/http/syntax.h"
#include "base/http/url.h"

namespace ratoon::http {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Keeps idle connections for reuse and hands out the most recently used one of an origin (scheme, host,
// port). Drops connections that the server has closed.
class ConnectionPool {
 public:
  explicit ConnectionPool(std::size_t idle_max) : idle_max_(idle_max) {}

  std::unique_ptr<ClientConnection> take(const std::string& origin) {
    std::vector<std::unique_ptr<ClientConnection>> dropped;  // destroyed after the lock
    const MutexLock lock(mutex_);
    for (auto it = idle_.rbegin(); it != idle_.rend();) {
      if (it->first != origin) {
        ++it;
        continue;
      }
      auto connection = std::move(it->second);
      it = decltype(it)(idle_.erase(std::next(it).base()));
      if (!has_input(connection->socket())) return connection;
      dropped.push_back(std::move(connection));
    }
    return nullptr;
  }

  void give_back(const std::string& origin, std::unique_ptr<ClientConnection> connection) {
    if (has_input(connection->socket())) return;
    std::unique_ptr<ClientConnection> dropped;
    const MutexLock lock(mutex_);
    idle_.emplace_back(origin, std::move(connection));
    if (idle_.size() > idle_max_) {
      dropped = std::move(idle_.front().second);
      idle_.erase(idle_.begin());
    }
  }

 private:
  const std::size_t idle_max_;
  Mutex mutex_;
  // The connection that has been idle longest is the first.
  std::vector<std::pair<std::string, std::unique_ptr<ClientConnection>>> idle_ RATOON_GUARDED_BY(mutex_);
};

// Collects the whole reply body in memory, up to a size limit.
class CollectingSink final : public BodySink {
 public:
  CollectingSink(const Request& request, const Url& url, std::size_t bytes_max)
      : request_(request), url_(url), bytes_max_(bytes_max) {}

  Result<void> on_head(const ResponseHead& head) override {
    const auto length = head.headers.get("Content-Length");
    if (length.empty() || request_.method == "HEAD") return {};
    if (std::stoull(std::string(length)) > bytes_max_) return too_long();
    return {};
  }
  Result<void> on_bytes(std::string_view bytes) override {
    if (body_.size() + bytes.size() > bytes_max_) return too_long();
    body_.append(bytes);
    return {};
  }
  std::string take_body() { return std::move(body_); }

 private:
  Error too_long() const {
    return call_error(
        ErrorKind::kInvalid, request_, url_,
        "got a reply body over the limit of " + std::to_string(bytes_max_) + " bytes (body_bytes_max)");
  }

  const Request& request_;
  const Url& url_;
  const std::size_t bytes_max_;
  std::string body_;
};

bool is_idempotent(const std::string& method) {
  return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE" || method == "OPTIONS";
}

Result<void> check_request(const Request& request, const Url& url) {
  if (!is_token(request.method)) {
    return Error(ErrorKind::kInvalid, "the method of a call to " + url.shown + " is not an HTTP method");
  }
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name) || !is_field_value(value)) {
      return call_error(ErrorKind::kInvalid, request, url,
                        "cannot be made: a header has a line break or another control character in it");
    }
    if (equals_ignoring_case(name, "Transfer-Encoding") || equals_ignoring_case(name, "Connection")) {
      return call_error(ErrorKind::kInvalid, request, url,
                        "cannot be made: a caller must not set the header " + name);
    }
  }
  return {};
}

Result<std::optional<Proxy>> read_proxy(const std::string& url) {
  if (url.empty()) return std::optional<Proxy>();
  auto proxy = parse_proxy(url);
  if (!proxy) return proxy.error();
  return std::optional(*std::move(proxy));
}

class PoolingTransport final : public HttpTransport {
 public:
  PoolingTransport(MakeConnection make_connection, ResolveName resolve, const TransportOptions& options)
      : make_connection_(make_connection),
        resolve_(resolve),
        server_name_(options.tls.server_name),
        pool_(options.idle_connections_max),
        tls_(TlsClient::make(options.tls)),
        proxy_(read_proxy(options.proxy)) {}

  Result<Response> call(const Request& request, const Limits& limits, std::stop_token stop) override {
    const auto url = parse_url(request.url);
    if (!url) return url.error();
    CollectingSink sink(request, *url, limits.body_bytes_max);
    auto head = exchange(request, *url, limits, sink, stop);
    if (!head) return head.error();
    return Response{head->status, std::move(head->headers), sink.take_body()};
  }

  Result<ResponseHead> stream(const Request& request, const Limits& limits, BodySink& sink,
                              std::stop_token stop) override {
    const auto url = parse_url(request.url);
    if (!url) return url.error();
    return exchange(request, *url, limits, sink, stop);
  }

 private:
  Result<ResponseHead> exchange(const Request& request, const Url& url, const Limits& limits, BodySink& sink,
                                const std::stop_token& stop) {
    if (auto checked = check_request(request, url); !checked) return checked.error();
    CallPlan plan{request, url, limits, sink, std::nullopt, stop};
    if (limits.total > Duration::zero()) plan.deadline = SteadyClock::now() + limits.total;

    // The Host header is part of the key, because cpprestsdk also finds its connections by that header.
    const std::string origin = (url.is_https ? "s" : "p") + url.host + ":" + std::to_string(url.port) + " " +
                               std::string(request.headers.get("Host"));
    if (auto connection = pool_.take(origin)) {
      auto outcome = connection->run(plan);
      if (!outcome.error && outcome.is_reusable) pool_.give_back(origin, std::move(connection));
      // If the server closed a reused connection during this call, it may or may not have read the request.
      const bool is_repeatable =
          outcome.was_never_sent || (outcome.has_had_no_reply && is_idempotent(request.method));
      if (!is_repeatable) return finish(std::move(outcome));
    }
    auto connection = open_connection(plan);
    if (!connection) return connection.error();
    auto outcome = (*connection)->run(plan);
    if (!outcome.error && outcome.is_reusable) pool_.give_back(origin, std::move(*connection));
    return finish(std::move(outcome));
  }

  static Result<ResponseHead> finish(CallOutcome outcome) {
    if (outcome.error) return *std::move(outcome.error);
    return std::move(outcome.head);
  }

  Result<std::unique_ptr<ClientConnection>> open_connection(const CallPlan& plan) {
    if (plan.url.is_https && !tls_) return tls_.error();
    if (!proxy_) return proxy_.error();
    Duration within = plan.limits.connect;
    if (plan.deadline) {
      const Duration left =
          std::max<Duration>(*plan.deadline - SteadyClock::now(), std::chrono::milliseconds(1));
      within = within > Duration::zero() ? std::min(within, left) : left;
    }
    auto connected = *proxy_ ? connect_through(**proxy_, plan.url, within, plan.stop, resolve_)
                             : connect_to(plan.url, within, plan.stop, resolve_);
    if (!connected) return connected.error();
    std::string name = server_name_.empty() ? plan.url.host : server_name_;
    return make_connection_(plan.url, std::move(name), std::move(*connected),
                            plan.url.is_https ? *tls_ : nullptr);
  }

  const MakeConnection make_connection_;
  const ResolveName resolve_;
  const std::string server_name_;
  ConnectionPool pool_;
  const Result<std::shared_ptr<const TlsClient>> tls_;
  const Result<std::optional<Proxy>> proxy_;
};

// The resolver of a program that cannot look up names, for example because it is linked statically.
void reject_host_name(const Url&, ResolvedName resolved) {
  resolved({}, "this program looks up no names: its URL must have an IP address");
}

}  // namespace

std::unique_ptr<HttpTransport> make_pooling_transport(MakeConnection make_connection, ResolveName resolve,
                                                      const TransportOptions& options) {
  return std::make_unique<PoolingTransport>(make_connection, resolve, options);
}

std::unique_ptr<HttpTransport> make_ip_literal_transport(const TransportOptions& options) {
  return make_pooling_transport(&make_direct_connection, &reject_host_name, options);
}

}  // namespace ratoon::http
