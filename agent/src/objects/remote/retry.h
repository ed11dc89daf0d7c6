// Rules for retries: decide which failures are retried, and after which pause. The functions are pure,
// because time and random numbers are arguments.
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
// between zero and a limit that doubles with each attempt ("full jitter"), so that clients that failed
// together do not retry together. The pause is at least as long as the server's Retry-After. `chance` is a
// random number from 0 to below 1.
[[nodiscard]] Duration retry_pause(const RetryPolicy& policy, std::uint32_t attempt, double chance,
                                   std::optional<Duration> retry_after);

// Returns true if a request that failed without a reply may succeed later. Returns false after a wrong
// address or a TLS error.
[[nodiscard]] bool is_retryable(const Error& error);

// Returns true if a request that was refused with this status and code may succeed later. `code` is the error
// code in S3's reply, or empty if there is none.
[[nodiscard]] bool is_retryable(int status, std::string_view code);

// Returns the kind of error that an HTTP status means, if the rest of the reply does not explain the error.
[[nodiscard]] ErrorKind error_kind_of_status(int status);

// Parses the value of a Retry-After header, which is a number of seconds such as "120" or an HTTP date.
// Returns nothing if the text is neither a number nor an HTTP date, or is a time in the past.
[[nodiscard]] std::optional<Duration> parse_retry_after(std::string_view text, WallTime now);

// Parses an HTTP date, such as "Wed, 21 Oct 2015 07:28:00 GMT".
[[nodiscard]] std::optional<WallTime> parse_http_date(std::string_view text);

}  // namespace ratoon::objects
