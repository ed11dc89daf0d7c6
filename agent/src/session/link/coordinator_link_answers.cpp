// Implements the functions of CoordinatorLink that record which calls were answered, whether the server is
// trusted, and which earlier attempts the next request names.
#include "agent/src/session/link/coordinator_link.h"
#include "base/contract/names.h"
#include "base/core/log.h"

namespace ratoon::session {

void CoordinatorLink::handle_answer(const Refusal& refusal) {
  if (refusal.kind == names::refusal::kSuperseded) set_world_status(WorldStatus::kFenced, refusal.message);
  if (refusal.kind == names::refusal::kFinished) note_job_stopped(refusal.message);
  is_job_unknown_ = refusal.kind == names::refusal::kUnknownJob;
}

void CoordinatorLink::note_job_stopped(const std::string& reason) {
  is_job_stopped_ = true;
  set_world_status(WorldStatus::kStop, reason);
}

std::optional<std::string> CoordinatorLink::find_identity_error(
    const Result<http::Response>& response) const {
  const bool is_tls = options_.coordinator_url.starts_with("https://");
  if (!is_tls || response || response.error().is_retryable()) return std::nullopt;
  if (response.error().kind() == ErrorKind::kCancelled) return std::nullopt;
  const std::string trusted =
      options_.coordinator_ca.empty()
          ? std::string("the authorities of this image, since ") + names::env::kCoordinatorCa + " is not set"
          : std::string("the authorities in ") + names::env::kCoordinatorCa + " alone";
  return response.error().message() + "; this process trusts " + trusted +
         ", and the operator's certificate is tls.crt of its --tls-folder";
}

Error CoordinatorLink::note_auth_failure(const std::string& what, const std::string& why) {
  const SystemClock clock;
  const Timestamp now = clock.now();
  const MutexLock lock(mutex_);
  if (!auth_failed_since_) {
    auth_failed_since_ = now;
    const Logger logger(clock, {.format = LogFormat::kText});
    logger.warning(what, {{"why", why}, {"patience_seconds", seconds(timeouts_.auth_retry_time)}});
  }
  const bool counts = now - *auth_failed_since_ >= timeouts_.auth_retry_time;
  return {counts ? ErrorKind::kPermissionDenied : ErrorKind::kUnavailable, why};
}

// clear_auth_failure() is called after each accepted answer, which shows that the coordinator accepts this
// process's token. A call without an answer also restarts the time limit for refusals, because an
// administrator may be repairing the coordinator.
void CoordinatorLink::clear_auth_failure() {
  const MutexLock lock(mutex_);
  auth_failed_since_.reset();
}

void CoordinatorLink::note_answer() {
  const MutexLock lock(mutex_);
  ++answer_count_;
  last_answer_at_ = SystemClock().now();
  is_job_unknown_ = false;
  no_answer_reason_.clear();
  answer_arrived_.notify_all();
}

void CoordinatorLink::note_no_answer(const Error& why) {
  const MutexLock lock(mutex_);
  no_answer_reason_ = why.message();
}

ChangeSigns CoordinatorLink::change_signs() const {
  const MutexLock lock(mutex_);
  ChangeSigns signs{.coordinator_answered_at = last_answer_at_};
  const bool is_handed_over =
      hand_over_attempt_.load() != 0 && hand_over_attempt_.load() == position_.attempt.value();
  if (!no_answer_reason_.empty())
    signs.expected_change_reason = "the coordinator does not answer: " + no_answer_reason_;
  else if (is_handed_over)
    signs.expected_change_reason = "this attempt will end so that a replacement can take over";
  return signs;
}

void CoordinatorLink::note_ended_attempt(Attempt attempt, Step step) {
  if (attempt <= left_attempt_) return;
  left_attempt_ = attempt;
  left_step_ = step;
}

void CoordinatorLink::note_history(Attempt attempt, Step step) {
  const MutexLock lock(mutex_);
  // For its own attempt, this process keeps the step that it counted itself, because the history may lack the
  // last steps.
  if (attempt != position_.attempt) note_ended_attempt(attempt, step);
}

}  // namespace ratoon::session
