#include "base/http/client/client_connection.h"

#include "base/http/syntax.h"
#include "base/http/tls/tls_client.h"

namespace ratoon::http {
namespace {

std::string format_seconds(Duration d) {
  std::string text = std::to_string(seconds(d));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + " s";
}

std::string format_bytes(std::size_t bytes) {
  return std::to_string(bytes) + " bytes";
}

std::size_t size_of(const Headers& headers) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : headers) bytes += name.size() + value.size() + 4;
  return bytes;
}

Error error_of(ErrorKind kind, const CallPlan& plan, const std::string& how) {
  return call_error(kind, plan.request, plan.url, how);
}

}  // namespace

std::size_t body_size_of(const Request& request) {
  if (request.body_source != nullptr) return request.body_source->size_bytes();
  return request.body_view.empty() ? request.body.size() : request.body_view.size();
}

bool has_content_length(const Request& request) {
  const bool has_body_by_nature =
      request.method != "GET" && request.method != "HEAD" && request.method != "DELETE";
  return has_body_by_nature || body_size_of(request) != 0;
}

std::optional<std::string> find_framing_flaw(const ResponseHead& head, bool is_http_1,
                                             std::size_t head_bytes_max) {
  const auto& [status, headers] = head;
  if (!is_http_1 || status < 200 || status > 999) {
    return "got a reply that is not a final HTTP/1.1 reply (status " + std::to_string(status) +
           "); check that an HTTP server listens at this address";
  }
  if (size_of(headers) > head_bytes_max)
    return "got a reply head over the limit of " + format_bytes(head_bytes_max);
  const auto length = headers.get("Content-Length");
  if (headers.contains("Content-Length") && (!is_digits(length) || length.size() > 18)) {
    return "got a reply whose Content-Length is not a number below 10^18";
  }
  if (headers.contains("Transfer-Encoding") &&
      !equals_ignoring_case(headers.get("Transfer-Encoding"), "chunked")) {
    return "got a reply with an unknown Transfer-Encoding; this client only understands chunked";
  }
  return std::nullopt;
}

Error call_error(ErrorKind kind, const Request& request, const Url& url, const std::string& how) {
  return {kind, "the call " + request.method + " " + url.shown + " " + how};
}

Error cancelled_error(const CallPlan& plan) {
  return error_of(ErrorKind::kCancelled, plan, "was cancelled");
}

Error deadline_error(const CallPlan& plan) {
  return error_of(ErrorKind::kTimeout, plan,
                  "did not finish within " + format_seconds(plan.limits.total) +
                      "; the server may or may not have handled the request");
}

Error idle_timeout_error(const CallPlan& plan) {
  return error_of(ErrorKind::kTimeout, plan,
                  "got no byte for " + format_seconds(plan.limits.silence) + "; the server may be down");
}

Error too_long_reply_error(const CallPlan& plan, const char* part, std::size_t allowed_bytes) {
  return error_of(
      ErrorKind::kInvalid, plan,
      std::string("got a reply whose ") + part + " is over the limit of " + format_bytes(allowed_bytes));
}

Error short_body_error(const CallPlan& plan, std::size_t sent_bytes) {
  return error_of(ErrorKind::kInvalid, plan,
                  "was cancelled: the request's body ended after " + format_bytes(sent_bytes) +
                      ", but the request announced " + std::to_string(body_size_of(plan.request)));
}

Error not_http_error(const CallPlan& plan, const std::string& problem) {
  return error_of(
      ErrorKind::kInvalid, plan,
      "got a reply that is not HTTP/1.1 (" + problem + "); check which program listens at this address");
}

Error broken_connection_error(const CallPlan& plan, const BrokenExchange& broken) {
  const bool is_https = plan.url.is_https;
  if (!broken.certificate_problem.empty()) {
    return error_of(ErrorKind::kPermissionDenied, plan,
                    "was ended by the client: the server's certificate is not acceptable (" +
                        broken.certificate_problem + "); expected one for '" + broken.expected_name +
                        "' that a trusted CA signed and that is valid now: check name, CA, dates and this "
                        "machine's clock");
  }
  if (is_https && is_not_tls_error(broken.code)) {
    return error_of(ErrorKind::kInvalid, plan,
                    "failed: the server does not speak TLS; check the port, or use http://");
  }
  if (const auto reason = tls_reason(broken.code); is_https && !reason.empty()) {
    return error_of(
        ErrorKind::kPermissionDenied, plan,
        "was refused by TLS (" + reason + "); check the client certificate and the server's demands");
  }
  return error_of(ErrorKind::kUnavailable, plan,
                  "was cut off by the server (" + broken.problem +
                      "); the server may or may not have handled the request");
}

}  // namespace ratoon::http
