// base/http/client/ makes HTTP calls to servers. ClientConnection: one connection to a server. The connection
// stays open between calls, and one call at a time uses it.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include <ratoon/result.h>

#include "base/http/transport.h"
#include "base/http/url.h"

namespace ratoon::http {

struct CallPlan {
  const Request& request;
  const Url& url;
  const Limits& limits;
  BodySink& sink;
  std::optional<std::chrono::steady_clock::time_point> deadline;  // of the whole call, including the connect
  const std::stop_token& stop;
};

struct CallOutcome {
  std::optional<Error> error;
  ResponseHead head;              // if there is no error
  bool was_never_sent = false;    // the connection was gone before the first byte
  bool has_had_no_reply = false;  // broke before the first byte of the reply, and can be sent again
  bool is_reusable = true;        // as far as is known, if there is no error
};

class ClientConnection {
 public:
  virtual ~ClientConnection() = default;

  // Makes one HTTP call. Returns only when no object refers to `plan` any longer.
  [[nodiscard]] virtual CallOutcome run(const CallPlan& plan) = 0;
  [[nodiscard]] virtual int socket() const = 0;
};

// Returns the size of the request's body, which is a string, a memory view or a source function.
[[nodiscard]] std::size_t body_size_of(const Request& request);
// Returns whether the request gets a Content-Length header. It gets the header if it has a body, or if
// requests with its method usually have a body.
[[nodiscard]] bool has_content_length(const Request& request);

// Checks the head of a reply. Returns an error description that begins with `got a reply` if the reply is no
// final HTTP/1.1 reply, if its head is too long, or if its length is unclear. Otherwise returns nullopt.
[[nodiscard]] std::optional<std::string> find_framing_flaw(const ResponseHead& head, bool is_http_1,
                                                           std::size_t head_bytes_max);

// Makes an error such as `the call GET http://host:port/path timed out: ...`.
[[nodiscard]] Error call_error(ErrorKind kind, const Request& request, const Url& url,
                               const std::string& how);
[[nodiscard]] Error cancelled_error(const CallPlan& plan);
[[nodiscard]] Error deadline_error(const CallPlan& plan);
[[nodiscard]] Error idle_timeout_error(const CallPlan& plan);
// Returns the error for a reply whose `part` (head or chunk) is longer than `allowed_bytes`.
[[nodiscard]] Error too_long_reply_error(const CallPlan& plan, const char* part, std::size_t allowed_bytes);
[[nodiscard]] Error short_body_error(const CallPlan& plan, std::size_t sent_bytes);

// The reason why a call broke off, in words (`problem`) and as errno or OpenSSL's packed code (`code`).
struct BrokenExchange {
  std::string problem;
  int code = 0;
  std::string certificate_problem;  // why the other side's certificate was refused, or empty
  std::string expected_name;        // the name that it was expected to have
};
[[nodiscard]] Error broken_connection_error(const CallPlan& plan, const BrokenExchange& broken);
[[nodiscard]] Error not_http_error(const CallPlan& plan, const std::string& problem);

}  // namespace ratoon::http
