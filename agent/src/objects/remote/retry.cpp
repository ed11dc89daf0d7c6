#include "agent/src/objects/remote/retry.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace ratoon::objects {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

}  // namespace

Duration retry_pause(const RetryPolicy& policy, std::uint32_t attempt, double chance,
                     std::optional<Duration> retry_after) {
  const std::uint32_t doublings = std::min(attempt < 2 ? 0 : attempt - 2, 20u);
  const double ceiling =
      std::min(seconds(policy.pause_base) * static_cast<double>(std::uint32_t{1} << doublings),
               seconds(policy.pause_max));
  const Duration jittered = from_seconds(chance * ceiling);
  return retry_after ? std::max(jittered, *retry_after) : jittered;
}

bool is_retryable(const Error& error) {
  return error.kind() == ErrorKind::kUnavailable || error.kind() == ErrorKind::kTimeout;
}

bool is_retryable(int status, std::string_view code) {
  if (status == 408 || status == 425 || status == 429) return true;
  if (status >= 500) return status != 501 && status != 505;
  // S3 reports the following temporary failures with an HTTP status that usually means a permanent failure.
  constexpr std::array<std::string_view, 10> kPassing = {
      "RequestTimeout", "SlowDown", "Throttling", "ThrottlingException", "InternalError", "OperationAborted",
      "ConditionalRequestConflict",
      // S3 sends BadDigest if the bytes that it received differ from the bytes that were sent.
      "BadDigest", "XAmzContentSHA256Mismatch", "IncompleteBody"};
  return std::find(kPassing.begin(), kPassing.end(), code) != kPassing.end();
}

ErrorKind error_kind_of_status(int status) {
  switch (status) {
    case 401:
    case 403:
    case 407:
      return ErrorKind::kPermissionDenied;
    case 404:
    case 410:
      return ErrorKind::kNotFound;
    case 408:
    case 425:
    case 429:
      return ErrorKind::kUnavailable;
    case 409:
      return ErrorKind::kConflict;
    case 412:
      return ErrorKind::kConflict;
    default:
      return status >= 500 && status != 501 && status != 505 ? ErrorKind::kUnavailable : ErrorKind::kInvalid;
  }
}

std::optional<Duration> parse_retry_after(std::string_view text, WallTime now) {
  std::uint32_t whole_seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole_seconds);
  if (error == std::errc() && end == text.data() + text.size() && !text.empty())
    return std::chrono::seconds(whole_seconds);
  const auto date = parse_http_date(text);
  if (!date || *date <= now) return std::nullopt;
  return date->since_epoch - now.since_epoch;
}

std::optional<WallTime> parse_http_date(std::string_view text) {
  // In an HTTP date, such as "Wed, 21 Oct 2015 07:28:00 GMT", each part has a fixed position.
  if (text.size() != 29 || text.substr(3, 2) != ", " || !text.ends_with(" GMT")) return std::nullopt;
  const auto month = std::find(kMonths.begin(), kMonths.end(), text.substr(8, 3));
  if (month == kMonths.end()) return std::nullopt;
  std::string number = std::to_string(month - kMonths.begin() + 1);
  if (number.size() < 2) number.insert(0, "0");
  return parse_rfc3339(std::string(text.substr(12, 4)) + '-' + number + '-' + std::string(text.substr(5, 2)) +
                       'T' + std::string(text.substr(17, 8)) + 'Z');
}

}  // namespace ratoon::objects
