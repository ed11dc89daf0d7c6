#include "agent/src/objects/remote/retry_loop.h"

#include <algorithm>
#include <cmath>

namespace ratoon::objects {
namespace {

constexpr std::uint32_t kImmediateRetriesMax = 10;

std::string format_seconds(Duration d) {
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

Duration RetryLoop::time_left() const {
  return timeouts_.retry.total - (dependencies_.clock->now() - began_);
}

http::Limits RetryLoop::limits() const {
  // Use a limit of at least one millisecond, because a limit of 0 would mean that there is no limit.
  return {.total = std::max<Duration>(time_left(), std::chrono::milliseconds(1)),
          .silence = timeouts_.silence,
          .connect = timeouts_.connect};
}

Error RetryLoop::final_error(ErrorKind kind, const std::string& how, const Error& why) const {
  return {kind, operation_ + " " + how + ": " + why.message()};
}

Result<void> RetryLoop::wait_for_retry(const RemoteRefusal& why) {
  if (stop_.stop_requested()) return Error(ErrorKind::kCancelled, operation_ + " was cancelled");
  if (why.is_retried_at_once && ++immediate_retries_ <= kImmediateRetriesMax) return {};
  if (why.is_retried_at_once) return final_error(ErrorKind::kInvalid, "was redirected too often", why.error);
  if (!why.is_retryable) return why.error.with_context(operation_);
  ++failures_;
  const Duration passed = dependencies_.clock->now() - began_;
  const Duration rest = time_left();
  if (rest <= Duration::zero()) {
    return final_error(ErrorKind::kTimeout,
                       "was not done within " + format_seconds(timeouts_.retry.total) + "; the last failure",
                       why.error);
  }
  if (failures_ >= timeouts_.retry.attempts_max) {
    return final_error(why.error.kind(),
                       "failed " + std::to_string(failures_) + " times within " + format_seconds(passed) +
                           "; the last failure",
                       why.error);
  }
  const Duration pause = retry_pause(timeouts_.retry, failures_ + 1, dependencies_.chance(), why.retry_after);
  if (pause >= rest) {
    return final_error(ErrorKind::kTimeout,
                       "cannot be done within " + format_seconds(timeouts_.retry.total) +
                           ", since the next attempt is due in " + format_seconds(pause) +
                           "; the last failure",
                       why.error);
  }
  if (!dependencies_.pause(pause, stop_)) return Error(ErrorKind::kCancelled, operation_ + " was cancelled");
  return {};
}

Result<http::Response> exchange(const HttpDependencies& dependencies, const Exchange& exchange,
                                RetryLoop& attempts) {
  while (true) {
    auto request = exchange.make();
    std::optional<RemoteRefusal> refusal;
    if (!request) {
      refusal = RemoteRefusal{.error = request.error(), .is_retryable = is_retryable(request.error())};
    } else {
      auto response = dependencies.transport->call(*request, attempts.limits(), attempts.stop());
      if (response) {
        refusal = exchange.judge(*response);
        if (!refusal) return response;
      } else {
        refusal = RemoteRefusal{.error = response.error(), .is_retryable = is_retryable(response.error())};
        if (refusal->is_retryable && exchange.explain) refusal = exchange.explain().value_or(*refusal);
      }
    }
    if (auto next = attempts.wait_for_retry(*refusal); !next) return next.error();
  }
}

}  // namespace ratoon::objects
