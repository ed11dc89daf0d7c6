// If the user requests a rollback, the next attempt starts from an older checkpoint. The functions of
// rollback_plan.h choose the checkpoint before the attempt begins.
#include <stdexcept>

#include "agent/src/session/engine/engine.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/telemetry/say.h"

namespace ratoon {

using session::fail;

Stream& Session::Engine::stream_to_skip_in() const {
  if (streams_.size() == 1) return *streams_.front();
  fail(ExitCode::kConfiguration,
       "--skip needs exactly one tracked ratoon::Stream, and this program tracks " +
           std::to_string(streams_.size()) +
           ": leave --skip out, and skip samples with Stream::skip_to() in the program");
}

void Session::Engine::skip_excluded_samples() {
  const session::RollbackPlan& plan = locations_.rollback();
  const std::optional<checkpoint::CheckpointId> resumed =
      assignment_.resume ? std::optional(checkpoint::CheckpointId{.attempt = assignment_.resume->attempt,
                                                                  .step = assignment_.resume->step})
                         : std::nullopt;
  if (plan.to && resumed != plan.to) {
    fail(
        ExitCode::kCheckpointsBad,
        "the run does not go back to step " + std::to_string(plan.to->step.value()) +
            " as --resume-from requests: not all ranks can read its checkpoint; no checkpoint was set aside");
  }
  if (!resumed) return;
  rollbacks_ = plan.earlier_rollbacks;
  if (plan.to) {
    const std::uint64_t skip_to = options_.skip == 0 ? 0 : stream_to_skip_in().cursor() + options_.skip;
    rollbacks_ = append_rollback(
        plan, {.attempt = assignment_.attempt, .to = *plan.to, .skip = options_.skip, .skip_to = skip_to});
  }
  if (rollbacks_.empty() || resumed->attempt >= rollbacks_.back().attempt) return;
  rollback_start_ = session::RollbackStart{.rollback = rollbacks_.back()};
  if (checkpoint::slot_after_rollbacks(*resumed, 0, rollbacks_) == 0) return;
  Stream& stream = stream_to_skip_in();
  rollback_start_->from = stream.cursor();
  try {
    stream.skip_to(checkpoint::slot_after_rollbacks(*resumed, stream.cursor(), rollbacks_));
  } catch (const std::invalid_argument& why) {
    fail(ExitCode::kConfiguration, "--skip " + std::to_string(options_.skip) + ": " + why.what());
  }
  rollback_start_->to = stream.cursor();
}

void Session::Engine::record_rollbacks() {
  const session::RollbackPlan& plan = locations_.rollback();
  if (plan.to && options_.skip != 0 && is_at_end()) {
    fail(ExitCode::kConfiguration,
         "--skip " + std::to_string(options_.skip) + " passes the end of the run (" +
             schedule_->until().text() + "), because it begins at sample " +
             std::to_string(rollback_start_->from) +
             ", so no sample is left to train: skip fewer samples; no checkpoint was set aside");
  }
  if (!is_rank_0() || rollbacks_.empty()) return;
  check();  // a rank whose attempt is over must not record a rollback
  if (auto kept = locations_.record_rollbacks(rollbacks_); !kept)
    fail(ExitCode::kStorage, "the rollback cannot be recorded: " + kept.error().message());
  if (plan.to) {
    std::string sentence =
        "the run goes back to step " + std::to_string(plan.to->step.value()) + " (--resume-from)";
    if (rollback_start_->to > rollback_start_->from) {
      sentence += ", and skips samples " + std::to_string(rollback_start_->from) + " to " +
                  std::to_string(rollback_start_->to - 1) + " of its stream (--skip)";
    }
    session::say(sentence + "; later checkpoints are in aside/");
  } else if (plan.existing_rollback) {
    session::say("the run went back to step " + std::to_string(plan.existing_rollback->to.step.value()) +
                 " in attempt " + std::to_string(plan.existing_rollback->attempt.value()) +
                 ", as --resume-from says");
  }
}

}  // namespace ratoon
