// Lane: one connection to a server, kept between calls and used by one of them at a time.
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
  std::optional<std::chrono::steady_clock::time_point> deadline;  // of the whole call, connecting included
  const std::stop_token& stop;
};

struct CallOutcome {
  std::optional<Error> error;
  ResponseHead head;              // where there is no error
  bool was_never_sent = false;    // the connection was gone before the first byte
  bool has_had_no_reply = false;  // broken off before a byte of a reply came, and can be sent again
  bool is_reusable = true;        // as far as is known, where there is no error
};

class Lane {
 public:
  virtual ~Lane() = default;

  // One exchange, from the first byte sent to the moment when nothing refers to the plan any more.
  [[nodiscard]] virtual CallOutcome run(const CallPlan& plan) = 0;
  [[nodiscard]] virtual int socket() const = 0;
};

// Bytes of the body that are sent, wherever they lie.
[[nodiscard]] std::size_t body_size_of(const Request& request);
// Whether the length of a body is told even where there is none.
[[nodiscard]] bool tells_length(const Request& request);

// What leaves open where a reply ends, or what it is: "got a reply that ...", or nothing.
[[nodiscard]] std::optional<std::string> find_flaw(const ResponseHead& head, bool is_http_1,
                                                   std::size_t head_bytes_max);

// "the call GET http://host:port/path timed out: ..."
[[nodiscard]] Error call_error(ErrorKind kind, const Request& request, const Url& url,
                               const std::string& how);
[[nodiscard]] Error cancelled_error(const CallPlan& plan);
[[nodiscard]] Error late_error(const CallPlan& plan);
[[nodiscard]] Error silence_error(const CallPlan& plan);
// `part` of the reply, its head or a chunk, is longer than allowed.
[[nodiscard]] Error flood_error(const CallPlan& plan, const char* part, std::size_t allowed_bytes);
[[nodiscard]] Error short_source_error(const CallPlan& plan, std::size_t sent_bytes);

// An exchange that broke off: `problem` in words, `code` is errno or OpenSSL's packed code.
struct Break {
  std::string problem;
  int code = 0;
  std::string certificate_problem;  // why the other side's certificate was refused, or empty
  std::string expected_name;        // that it was to be for
};
[[nodiscard]] Error break_error(const CallPlan& plan, const Break& broken);
[[nodiscard]] Error not_http_error(const CallPlan& plan, const std::string& problem);

}  // namespace ratoon::http
