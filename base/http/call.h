// One exchange over one lane, from the first byte sent to the moment when the library has let go of it.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

#include "base/http/lane.h"

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
};

[[nodiscard]] CallOutcome run_call(Lane& lane, const CallPlan& plan);

// "the call GET http://host:port/path timed out: ..."
[[nodiscard]] Error call_error(ErrorKind kind, const Request& request, const Url& url,
                               const std::string& how);

}  // namespace ratoon::http
