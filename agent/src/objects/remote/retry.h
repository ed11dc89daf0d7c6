// Rules for retries: which failures are retried, and when. Pure: time and randomness are arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::objects {

struct RetryPolicy {
  std::uint32_t attempts_max = 8;  // in a row, without progress in between
  Duration pause_base{std::chrono::milliseconds(200)};
  Duration pause_max{std::chrono::seconds(20)};
  Duration total{std::chrono::seconds(300)};  // attempts and pauses together
};

// Returns the pause before attempt number `attempt` (the first retry is attempt 2). The pause is random
// between zero and a limit that doubles each time ("full jitter", so that clients that failed together do not
// retry together). The pause is at least as long as the server's Retry-After. `chance` is in [0, 1).
[[nodiscard]] Duration retry_pause(const RetryPolicy& policy, std::uint32_t attempt, double chance,
                                   std::optional<Duration> retry_after);

// Returns whether a call without a reply may succeed later. A wrong address or a TLS error is permanent.
[[nodiscard]] bool may_pass(const Error& error);

// Returns whether a refused request may succeed later. `code` is S3's error code, or empty.
[[nodiscard]] bool may_pass(int status, std::string_view code);

// Returns the kind of error for an HTTP status, if nothing else is known.
[[nodiscard]] ErrorKind kind_of_status(int status);

// Parses "120" or an HTTP date. Returns nothing if the text has neither form, or is a time in the past.
[[nodiscard]] std::optional<Duration> parse_retry_after(std::string_view text, WallTime now);

// Parses "Wed, 21 Oct 2015 07:28:00 GMT".
[[nodiscard]] std::optional<WallTime> parse_http_date(std::string_view text);

}  // namespace ratoon::objects
