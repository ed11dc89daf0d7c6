// HttpServer: a small HTTP/1.1 server. A handler may answer later, from any thread, so a long poll blocks no
// thread.
//
//   auto server = HttpServer::start({.port = 0}, [](ServerRequest request, Responder responder) {
//     responder.send({.status = 200, .body = "hello " + request.path});
//   });
//   if (!server) return server.error();
//   use((*server)->port());
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/http/message.h"

namespace ratoon::http {

struct ServerRequest {
  std::string method;
  std::string path;   // without the query, still escaped
  std::string query;  // after '?', still escaped
  Headers headers;
  std::string body;
  std::string peer;  // "127.0.0.1:43210"
};

// Writes a reply in pieces. Any thread may write the reply, but only one thread at a time.
class StreamWriter {
 public:
  virtual ~StreamWriter() = default;
  // Blocks while too many bytes of the reply are unsent. Returns an error if the client has left or the
  // server stops.
  [[nodiscard]] virtual Result<void> write(std::string_view bytes) = 0;
  // Completes the reply. If finish() was not called, the destructor cuts the connection, so that the client
  // sees a broken reply.
  virtual void finish() = 0;
};

// The owner of an authenticated connection.
struct ConnectionOwner {
  std::string tenant;  // a group of owners that share a limit, for example a namespace
  std::string name;
  std::size_t connections_max = 1;
};

// A Responder answers one request, exactly once. A Responder can be moved, but not copied. If it is destroyed
// without an answer, it sends status 500.
class Responder {
 public:
  class Connection;
  explicit Responder(std::shared_ptr<Connection> connection);
  Responder(Responder&&) noexcept;
  Responder& operator=(Responder&&) noexcept;
  ~Responder();

  // Marks the connection as authenticated: it stops counting for unauthenticated_connections_max and counts
  // as a connection of its owner instead. If the owner now has more than its `connections_max`, the server
  // closes the owner's oldest connection. Returns false, and leaves the connection unauthenticated, if the
  // owner's tenant has its tenant_connections_max already.
  [[nodiscard]] bool mark_authenticated(const ConnectionOwner& owner) const;

  void send(Response response);
  [[nodiscard]] std::unique_ptr<StreamWriter> stream(int status, Headers headers);

  // Returns whether the client closed its connection before it got the answer.
  [[nodiscard]] bool is_abandoned() const;

 private:
  std::shared_ptr<Connection> connection_;
};

using Handler = std::function<void(ServerRequest, Responder)>;

struct TlsServerOptions {
  std::string certificate_pem{};  // chain, leaf first
  std::string private_key_pem{};
  std::string client_ca_pem{};  // not empty: clients must show a certificate of this authority
};

// The address to listen on for IPv6 and IPv4 clients; on a machine without IPv6 the server listens on IPv4
// only.
inline constexpr const char* kEveryAddress = "::";

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  std::optional<TlsServerOptions> tls{};
  int threads = 1;
  std::size_t connections_max = 8192;
  std::size_t head_bytes_max = 16 * 1024;
  std::size_t body_bytes_max = 1024 * 1024;
  Duration head_deadline{std::chrono::seconds(10)};  // TLS handshake and head, from the first byte on
  Duration body_deadline{std::chrono::seconds(30)};
  Duration idle_deadline{std::chrono::seconds(75)};   // between two requests on one connection
  Duration write_deadline{std::chrono::seconds(30)};  // the client reads nothing
  // The time limit for a whole reply, from its first piece to its last, even if the client reads steadily.
  // If reply_deadline is absent, a reply has no time limit.
  std::optional<Duration> reply_deadline{};
  // The greatest number of unauthenticated connections; if absent, only connections_max limits them. If a new
  // connection exceeds the limit, the server closes one unauthenticated connection, which the class
  // UnauthenticatedConnections chooses.
  std::optional<std::size_t> unauthenticated_connections_max{};
  // The greatest number of authenticated connections of one tenant; if absent, only connections_max limits
  // them.
  std::optional<std::size_t> tenant_connections_max{};
  // The time limit for a whole request on an unauthenticated connection, counted from the beginning of the
  // connection (before the TLS handshake) or from the previous reply.
  Duration unauthenticated_deadline{std::chrono::seconds(10)};
};

class HttpServer {
 public:
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(ServerOptions options, Handler handler);
  virtual ~HttpServer() = default;

  [[nodiscard]] virtual std::uint16_t port() const = 0;
  // Replaces a TLS server's certificate for new connections; open connections keep the old one. Returns
  // kInvalid, and changes nothing, if the new certificate cannot be used.
  [[nodiscard]] virtual Result<void> renew(const TlsServerOptions& tls) = 0;
  // Stops accepting connections, closes all open connections and waits for running handlers. The destructor
  // calls stop() too.
  virtual void stop() = 0;
};

}  // namespace ratoon::http
