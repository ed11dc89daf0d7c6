#include "agent/src/objects/remote/retry_loop.h"

#include <algorithm>
#include <cmath>

namespace ratoon::objects {
namespace {

constexpr std::uint32_t kNewRequestsMax = 10;

std::string in_seconds(Duration d) {
  std::string text = std::to_string(std::round(seconds(d) * 10) / 10);
  return text.substr(0, text.find('.') + 2) + " s";
}

}  // namespace

RequestTimeouts timeouts_of(const StoreOptions& options) {
  return {.retry = {.attempts_max = std::max(options.attempts_max, 1u),
                    .total = from_seconds(options.object_seconds)},
          .connect = from_seconds(options.connect_seconds),
          .silence = from_seconds(options.silence_seconds)};
}

Duration RetryLoop::left() const {
  return timeouts_.retry.total - (dependencies_.clock->now() - began_);
}

http::Limits RetryLoop::limits() const {
  // Use at least one unit of time, because a limit of 0 would mean that there is no limit.
  return {.total = std::max<Duration>(left(), std::chrono::milliseconds(1)),
          .silence = timeouts_.silence,
          .connect = timeouts_.connect};
}

Error RetryLoop::give_up(ErrorKind kind, const std::string& how, const Error& why) const {
  return {kind, what_ + " " + how + ": " + why.message()};
}

Result<void> RetryLoop::next(const RemoteRefusal& why) {
  if (stop_.stop_requested()) return Error(ErrorKind::kCancelled, what_ + " was cancelled");
  if (why.retries_at_once && ++new_requests_ <= kNewRequestsMax) return {};
  if (why.retries_at_once) return give_up(ErrorKind::kInvalid, "was redirected too often", why.error);
  if (!why.may_pass) return why.error.with_context(what_);
  ++failures_;
  const Duration passed = dependencies_.clock->now() - began_;
  const Duration rest = left();
  if (rest <= Duration::zero()) {
    return give_up(ErrorKind::kTimeout,
                   "was not done within " + in_seconds(timeouts_.retry.total) + "; the last failure",
                   why.error);
  }
  if (failures_ >= timeouts_.retry.attempts_max) {
    return give_up(
        why.error.kind(),
        "failed " + std::to_string(failures_) + " times within " + in_seconds(passed) + "; the last failure",
        why.error);
  }
  const Duration pause = retry_pause(timeouts_.retry, failures_ + 1, dependencies_.chance(), why.retry_after);
  if (pause >= rest) {
    return give_up(ErrorKind::kTimeout,
                   "cannot be done within " + in_seconds(timeouts_.retry.total) +
                       ", since the next attempt is due in " + in_seconds(pause) + "; the last failure",
                   why.error);
  }
  if (!dependencies_.pause(pause, stop_)) return Error(ErrorKind::kCancelled, what_ + " was cancelled");
  return {};
}

Result<http::Response> exchange(const HttpDependencies& dependencies, const Exchange& exchange,
                                RetryLoop& attempts) {
  while (true) {
    auto request = exchange.make();
    std::optional<RemoteRefusal> refusal;
    if (!request) {
      refusal = RemoteRefusal{.error = request.error(), .may_pass = may_pass(request.error())};
    } else {
      auto response = dependencies.transport->call(*request, attempts.limits(), attempts.stop());
      if (response) {
        refusal = exchange.judge(*response);
        if (!refusal) return response;
      } else {
        refusal = RemoteRefusal{.error = response.error(), .may_pass = may_pass(response.error())};
        if (refusal->may_pass && exchange.explain) refusal = exchange.explain().value_or(*refusal);
      }
    }
    if (auto next = attempts.next(*refusal); !next) return next.error();
  }
}

}  // namespace ratoon::objects
