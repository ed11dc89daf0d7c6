// RetryLoop decides whether and when a failed operation is tried again. The retries end when the operation
// succeeds, fails permanently or has no time left.
//
// Thread contract: only one thread at a time may use an object of this file.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include <ratoon/result.h>

#include "agent/src/objects/remote/http_dependencies.h"
#include "agent/src/objects/remote/retry.h"

namespace ratoon::objects {

struct RequestTimeouts {
  RetryPolicy retry{};
  Duration connect{std::chrono::seconds(5)};
  Duration silence{std::chrono::seconds(30)};
};
[[nodiscard]] RequestTimeouts timeouts_of(const StoreOptions& options);

// RemoteRefusal: the reason why a request failed, and whether it may be tried again.
struct RemoteRefusal {
  Error error;
  bool is_retryable = false;
  bool is_retried_at_once = false;  // retry at once, uncounted: the address or the credentials are new
  std::optional<Duration> retry_after{};
};

class RetryLoop {
 public:
  // `what` is the beginning of the error text, such as "reading s3://bucket/key".
  RetryLoop(const HttpDependencies& dependencies, const RequestTimeouts& timeouts, std::string what,
            std::stop_token stop)
      : dependencies_(dependencies),
        timeouts_(timeouts),
        operation_(std::move(what)),
        stop_(std::move(stop)),
        began_(dependencies.clock->now()) {}

  // Returns the timeouts for the next try.
  [[nodiscard]] http::Limits limits() const;
  // Call saw_progress() when the operation has received new data. saw_progress() restarts the count of
  // failures, but not the time limit of the operation.
  void saw_progress() { failures_ = 0; }
  // Waits until the time of the next try. Returns an error if the operation must not be tried again.
  [[nodiscard]] Result<void> wait_for_retry(const RemoteRefusal& why);

  [[nodiscard]] const std::stop_token& stop() const { return stop_; }
  [[nodiscard]] const std::string& what() const { return operation_; }

 private:
  [[nodiscard]] Duration time_left() const;
  [[nodiscard]] Error final_error(ErrorKind kind, const std::string& how, const Error& why) const;

  const HttpDependencies& dependencies_;
  const RequestTimeouts& timeouts_;
  const std::string operation_;
  const std::stop_token stop_;
  const Timestamp began_;
  std::uint32_t failures_ = 0;  // since the last progress
  std::uint32_t immediate_retries_ = 0;
};

// An Exchange is a request with a small reply, which is repeated until it is answered. `make` makes the
// request anew for each try, because its signature contains the time. `judge` returns the reason if a reply
// means that the request was refused, and otherwise nothing. If a reply was lost, `explain` returns the
// reason why the request was refused, or nothing if no reason is known. `explain` may be null.
struct Exchange {
  std::function<Result<http::Request>()> make;
  std::function<std::optional<RemoteRefusal>(const http::Response&)> judge;
  std::function<std::optional<RemoteRefusal>()> explain{};
};
[[nodiscard]] Result<http::Response> exchange(const HttpDependencies& dependencies, const Exchange& exchange,
                                              RetryLoop& attempts);

}  // namespace ratoon::objects
