#include "operator/kube/api_failure.h"

#include "base/contract/fields.h"
#include "base/core/utf8.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

constexpr std::size_t kBodyBytesMax = 1024 * 1024;
constexpr std::size_t kMessageBytesMax = 1024;

ErrorKind error_kind_of(int status, const std::string& reason, const std::string& message) {
  // Refusals because of a quota and refusals by RBAC have the same status 403; only their messages differ.
  if (status == 403 && message.find("exceeded quota") != std::string::npos) return ErrorKind::kNoSpace;
  switch (status) {
    case 401:
    case 403:
      return ErrorKind::kPermissionDenied;
    case 404:
      return ErrorKind::kNotFound;
    case 409:
      return reason == "AlreadyExists" ? ErrorKind::kAlreadyExists : ErrorKind::kConflict;
    case 410:
      return ErrorKind::kConflict;
    case 408:
    case 504:
      return ErrorKind::kTimeout;
    default:
      return status == 429 || status >= 500 ? ErrorKind::kUnavailable : ErrorKind::kInvalid;
  }
}

std::optional<std::uint32_t> read_seconds(std::string_view text) {
  const auto whole = parse_unsigned(text);
  if (!whole || *whole > 3600) return std::nullopt;
  return static_cast<std::uint32_t>(*whole);
}

ApiFailure describe(int status, const json& object, std::string_view otherwise,
                    std::string_view retry_after) {
  std::string reason = cut_text(string_field(object, "reason"), 128);
  std::string message = cut_text(string_field(object, "message"), kMessageBytesMax);
  if (message.empty()) message = cut_text(std::string(otherwise.substr(0, kMessageBytesMax)), 200);
  if (message.empty()) message = "no reason given";
  std::string sentence = "the API server answers " + std::to_string(status) +
                         (reason.empty() ? "" : " " + reason) + ": " + message;
  ApiFailure failure{.status = status,
                     .reason = reason,
                     .error = Error(error_kind_of(status, reason, message), std::move(sentence)),
                     .retry_after_seconds = read_seconds(retry_after)};
  const auto seconds = int_field(child(object, "details"), "retryAfterSeconds");
  if (!failure.retry_after_seconds && seconds && *seconds > 0 && *seconds <= 3600)
    failure.retry_after_seconds = static_cast<std::uint32_t>(*seconds);
  return failure;
}

}  // namespace

std::optional<Duration> ApiFailure::requested_retry_delay() const {
  const bool is_overloaded = status == 429 || status == 503;
  if (!is_overloaded || !retry_after_seconds) return std::nullopt;
  return std::chrono::seconds(*retry_after_seconds);
}

ApiFailure read_api_failure(int status, std::string_view body, std::string_view retry_after) {
  const auto parsed = parse_json(body, kBodyBytesMax, 32);
  const bool is_status = parsed && string_field(*parsed, "kind") == "Status";
  return describe(status, is_status ? *parsed : json(), body, retry_after);
}

ApiFailure read_api_failure(const json& status) {
  const auto code = int_field(status, "code").value_or(500);
  return describe(code >= 400 && code < 600 ? static_cast<int>(code) : 500, status, "", "");
}

}  // namespace ratoon::kube
