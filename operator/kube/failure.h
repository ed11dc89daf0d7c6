// What the API server means by a reply that is not a success.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <ratoon/result.h>

namespace ratoon::kube {

struct Failure {
  int status = 0;
  std::string reason;  // the server's word: "Conflict", "AlreadyExists", "Expired"
  Error error;
  std::optional<std::uint32_t> retry_after_seconds;

  // What was asked for is older than what the server remembers: list anew.
  [[nodiscard]] bool is_expired() const { return status == 410; }
};

// `body` is a Status object or anything at all; `retry_after` is the header of that name, or empty.
[[nodiscard]] Failure read_failure(int status, std::string_view body, std::string_view retry_after);

// The same of a Status that came within a watch; `code` of it stands for the HTTP status.
[[nodiscard]] Failure read_failure(const nlohmann::json& status);

}  // namespace ratoon::kube
