#include "agent/src/session/rendezvous/local_check_failures.h"

#include "base/core/log.h"

namespace ratoon::session {

std::optional<std::string> LocalCheckFailures::note_check_result(const std::optional<Error>& unknown,
                                                                 const Clock& clock) {
  if (!unknown) {
    first_failure_at_.reset();
    return std::nullopt;
  }
  const Timestamp now = clock.now();
  if (!first_failure_at_) {
    first_failure_at_ = now;
    const Logger logger(clock, {.format = LogFormat::kText});
    logger.warning("this rank cannot check whether the other ranks are alive; it checks again",
                   {{"why", unknown->message()}, {"patience_seconds", seconds(failure_timeout_)}});
  }
  if (now - *first_failure_at_ < failure_timeout_) return std::nullopt;
  return "this rank could not check for " + std::to_string(failure_timeout_ / std::chrono::seconds(1)) +
         " s whether the other ranks are alive: " + unknown->message();
}

}  // namespace ratoon::session
