// Interprets a reply of the API server that reports a failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::kube {

struct ApiFailure {
  int status = 0;
  std::string reason;  // the server's reason code: "Conflict", "AlreadyExists", "Expired"
  Error error;
  std::optional<std::uint32_t> retry_after_seconds;

  // The server no longer remembers the requested resource version, so the caller must list the objects again.
  [[nodiscard]] bool is_expired() const { return status == 410; }
  // Returns the pause that an overloaded server asks for; the server has not carried out the call.
  [[nodiscard]] std::optional<Duration> requested_retry_delay() const;
};

// `body` is a Status object or any other text; `retry_after` is the value of Retry-After, or empty.
[[nodiscard]] ApiFailure read_api_failure(int status, std::string_view body, std::string_view retry_after);

// Interprets a Status object within a watch; the object's field `code` replaces the HTTP status.
[[nodiscard]] ApiFailure read_api_failure(const nlohmann::json& status);

}  // namespace ratoon::kube
