// RetryLoop: repeats one operation until it succeeds, fails permanently, or runs out of time.
//
// Thread contract: one thread at a time.
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

// RemoteRefusal: why a request failed, and whether another attempt may follow.
struct RemoteRefusal {
  Error error;
  bool may_pass = false;
  bool retries_at_once = false;  // retry at once, uncounted: the address or the credentials are new
  std::optional<Duration> retry_after{};
};

class RetryLoop {
 public:
  // `what` begins the text of the last error: "reading s3://bucket/key".
  RetryLoop(const HttpDependencies& dependencies, const RequestTimeouts& timeouts, std::string what,
            std::stop_token stop)
      : dependencies_(dependencies),
        timeouts_(timeouts),
        what_(std::move(what)),
        stop_(std::move(stop)),
        began_(dependencies.clock->now()) {}

  // Returns the time limits of the next attempt.
  [[nodiscard]] http::Limits limits() const;
  // Reports that new data arrived. The count of failures restarts; the time limit does not.
  void saw_progress() { failures_ = 0; }
  // Waits until the next attempt is due. Returns an error if there is no further attempt.
  [[nodiscard]] Result<void> next(const RemoteRefusal& why);

  [[nodiscard]] const std::stop_token& stop() const { return stop_; }
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  [[nodiscard]] Duration left() const;
  [[nodiscard]] Error give_up(ErrorKind kind, const std::string& how, const Error& why) const;

  const HttpDependencies& dependencies_;
  const RequestTimeouts& timeouts_;
  const std::string what_;
  const std::stop_token stop_;
  const Timestamp began_;
  std::uint32_t failures_ = 0;  // since the last progress
  std::uint32_t new_requests_ = 0;
};

// An Exchange is a request with a small reply, which is repeated until it is answered. `make` is called for
// each attempt, because a signature contains a time. `judge` returns why a reply is a refusal, or nothing.
// `explain`, if set, returns why the request was refused if the reply was lost, or nothing.
struct Exchange {
  std::function<Result<http::Request>()> make;
  std::function<std::optional<RemoteRefusal>(const http::Response&)> judge;
  std::function<std::optional<RemoteRefusal>()> explain{};
};
[[nodiscard]] Result<http::Response> exchange(const HttpDependencies& dependencies, const Exchange& exchange,
                                              RetryLoop& attempts);

}  // namespace ratoon::objects
