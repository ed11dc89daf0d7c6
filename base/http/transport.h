// HttpTransport: makes every HTTP call of Ratoon. Calls block; another thread can stop them
// (stop_token).
//
// Thread contract: every method may be called from any number of threads at once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/http/message.h"

namespace ratoon::http {

// A source of a request body that is not in memory as a whole.
class BodySource {
 public:
  virtual ~BodySource() = default;
  [[nodiscard]] virtual std::size_t size_bytes() const = 0;
  // Writes bytes to the beginning of `into` and returns their number; 0 means the end of the body.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<char> into) = 0;
};

struct Request {
  std::string method = "GET";
  std::string url{};  // absolute: http://127.0.0.1:8080/path?query, already escaped
  Headers headers{};
  std::string body{};
  std::string_view body_view{};       // instead of `body`, without a copy; must outlive the call
  BodySource* body_source = nullptr;  // instead of `body`; must outlive the call
};

// Limits of one call. A zero duration means that the call has no limit of this kind.
struct Limits {
  Duration total{std::chrono::seconds(30)};    // from the call to the last byte of the reply
  Duration silence{std::chrono::seconds(30)};  // between two bytes from the server
  Duration connect{std::chrono::seconds(5)};
  std::size_t head_bytes_max = 64 * 1024;
  std::size_t body_bytes_max = 16 * 1024 * 1024;  // not applied to streamed replies
};

struct ResponseHead {
  int status = 0;
  Headers headers{};  // of a reply: in the order of their names, equal names joined by commas
};

// Receives a reply piece by piece, in the thread that makes the call. If the sink returns an error, the call
// ends with that error.
class BodySink {
 public:
  virtual ~BodySink() = default;
  [[nodiscard]] virtual Result<void> on_head(const ResponseHead& head) = 0;
  [[nodiscard]] virtual Result<void> on_bytes(std::string_view bytes) = 0;
};

class HttpTransport {
 public:
  virtual ~HttpTransport() = default;

  // Sends one request and returns the whole reply. A reply with any HTTP status is a success. Errors:
  // kUnavailable (no connection, or cut off), kTimeout, kCancelled, kInvalid (bad URL, too large a reply, or
  // not HTTP), kPermissionDenied (refused by TLS).
  [[nodiscard]] virtual Result<Response> call(const Request& request, const Limits& limits,
                                              std::stop_token stop) = 0;

  // Passes the reply's body to `sink` as it arrives; returns after the last byte.
  [[nodiscard]] virtual Result<ResponseHead> stream(const Request& request, const Limits& limits,
                                                    BodySink& sink, std::stop_token stop) = 0;
};

struct TlsClientOptions {
  std::string ca_pem{};           // trusted authorities; empty: the system's
  std::string certificate_pem{};  // of this client, for servers that ask for one
  std::string private_key_pem{};
  std::string server_name{};  // expected name in the server's certificate; empty: the URL's host
};

struct TransportOptions {
  TlsClientOptions tls{};
  std::string proxy{};  // URL, see proxy_tunnel.h; empty: connect to the server itself
  std::size_t idle_connections_max = 16;
};

// Makes the transport that uses cpprestsdk, for trainers and command line tools.
[[nodiscard]] std::unique_ptr<HttpTransport> make_transport(const TransportOptions& options = {});

// Makes the transport without threads of its own, for the operator. The operator makes thousands of small
// calls and reads watches in many small pieces. With make_direct_transport() the calling thread sends and
// receives itself, which takes a tenth of the CPU time of cpprestsdk's calls (docs/design/0001-http.md).
[[nodiscard]] std::unique_ptr<HttpTransport> make_direct_transport(const TransportOptions& options = {});

}  // namespace ratoon::http
