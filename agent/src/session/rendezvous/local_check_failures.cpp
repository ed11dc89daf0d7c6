#include "agent/src/session/rendezvous/local_check_failures.h"

#include "base/core/log.h"

namespace ratoon::session {

std::optional<std::string> LocalCheckFailures::note_check_result(const std::optional<Error>& unknown,
                                                                 const Clock& clock) {
  if (!unknown) {
    since_.reset();
    return std::nullopt;
  }
  const Timestamp now = clock.now();
  if (!since_) {
    since_ = now;
    const Logger logger(clock, {.format = LogFormat::kText});
    logger.warning("this rank cannot check whether the other ranks are alive; it checks again",
                   {{"why", unknown->message()}, {"patience_seconds", seconds(patience_)}});
  }
  if (now - *since_ < patience_) return std::nullopt;
  return "this rank could not check for " + std::to_string(patience_ / std::chrono::seconds(1)) +
         " s whether the other ranks are alive: " + unknown->message();
}

}  // namespace ratoon::session
