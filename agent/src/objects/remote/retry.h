// What is tried again, and when. Pure: time and chance are arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::objects {

struct RetryPolicy {
  std::uint32_t attempts_max = 8;  // without any progress in between
  Duration pause_base{std::chrono::milliseconds(200)};
  Duration pause_max{std::chrono::seconds(20)};
  Duration total{std::chrono::seconds(300)};  // attempts and pauses together
};

// Before attempt number `attempt` (the first repetition is 2): anywhere between nothing and what doubles each
// time ("full jitter": many that failed together do not come back together), and not before the server said.
// `chance` is in [0, 1).
[[nodiscard]] Duration retry_pause(const RetryPolicy& policy, std::uint32_t attempt, double chance,
                                   std::optional<Duration> retry_after);

// Whether a call that got no answer may get one: not where the address is wrong or TLS refuses.
[[nodiscard]] bool may_pass(const Error& error);

// Whether a refusal may pass by itself. `code` is S3's, or empty.
[[nodiscard]] bool may_pass(int status, std::string_view code);

// What a status means where nothing more is known.
[[nodiscard]] ErrorKind kind_of_status(int status);

// "120", or an HTTP date; nothing for anything else, and for what lies back.
[[nodiscard]] std::optional<Duration> parse_retry_after(std::string_view text, WallTime now);

// "Wed, 21 Oct 2015 07:28:00 GMT"
[[nodiscard]] std::optional<WallTime> parse_http_date(std::string_view text);

}  // namespace ratoon::objects
