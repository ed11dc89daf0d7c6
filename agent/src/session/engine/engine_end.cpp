// Ends an attempt. An attempt ends at the run's end, after the save of the last step, or when the training
// function returns early.
#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <optional>
#include <string>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/disk/replacing_file.h"
#include "agent/src/session/engine/change_report_wait.h"
#include "agent/src/session/engine/engine.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/state/final_weights.h"
#include "agent/src/session/telemetry/say.h"
#include "base/core/threads/pause.h"
#include "base/core/utf8.h"

namespace ratoon {

using session::fail;

namespace {

// After the program has left its loop over steps, wait at most this time for a save in progress.
constexpr auto kPendingSaveTimeout = std::chrono::seconds(10);
constexpr auto kChangeReportPollPause = std::chrono::milliseconds(10);
constexpr auto kLastCommitTimeout = std::chrono::seconds(60);
constexpr auto kLeavingCommitTimeout = std::chrono::seconds(1);  // after the process was asked to leave

// For any exception of the program, train() returns kProgramErrorExitCode.
constexpr int kProgramErrorExitCode = 1;

// A run whose program decides the end itself counts as a run of kStepsWithoutEnd steps.
constexpr std::uint64_t kStepsWithoutEnd = std::numeric_limits<std::uint64_t>::max();

constexpr const char* kLeftOnOrderText = ", and this process left because it was told to leave; ";
constexpr const char* kOrderedToLeaveText = " because it was told to leave; ";

}  // namespace

std::string Session::Engine::describe_position() const {
  if (!schedule_) return "before its first step";
  const std::string step = "at step " + std::to_string(position_.step.value());
  const Until& until = schedule_->until();
  if (until.unit() != CountedIn::kSteps) return step + ", before " + until.text();
  const std::uint64_t total = until.total(schedule_->position());
  return total == kStepsWithoutEnd ? step : step + " of " + std::to_string(total);
}

std::string Session::Engine::describe_saved() const {
  if (!saved_step_) return "nothing is saved yet";
  const auto name_of = [this](Step step) {
    return step == position_.step ? std::string("that step") : "step " + std::to_string(step.value());
  };
  if (!position_.committed)
    return "the save of " + name_of(*saved_step_) + " is not committed, and no earlier save is committed";
  const Step committed = position_.committed->step;
  if (committed != *saved_step_)
    return "the save of " + name_of(*saved_step_) + " is not committed; the last committed save is that of " +
           name_of(committed);
  return committed == position_.step ? "that step is saved"
                                     : "the last save is that of " + name_of(committed);
}

std::string Session::Engine::wait_and_describe_saved(Timestamp give_up) {
  static_cast<void>(wait_for_commits_in_any_world(std::max(Duration(0), give_up - clock_.now())));
  return describe_saved();
}

void Session::Engine::refuse_early_return() {
  refuse_early_end("the training function returned " + describe_position(),
                   "let the loop over steps() end by itself; ");
}

Timestamp Session::Engine::wait_for_change_report(const std::string& ended_by) {
  const Timestamp give_up = clock_.now() + kPendingSaveTimeout;
  session::ChangeReportWait wait(clock_.now());
  do {
    check();
    drain_->receive_order(link_.outside_requests(), clock_.now());
    if (const auto code = drain_->find_exit_code_of_return(clock_.now())) {
      const Timestamp leaves = clock_.now() + drain_->remaining_commit_time(clock_.now());
      fail(*code, ended_by + kOrderedToLeaveText + wait_and_describe_saved(std::min(give_up, leaves)));
    }
    // Wait for a report of a lost rank, because the loss may have broken a collective and so ended this
    // rank's loop.
    if (assignment_.world_size == 1) break;
    enter(ProcessPhase::kCollective);
    wait.note(link_.change_signs());
    if (wait.is_report_due(clock_.now())) say(ended_by + ", and this process " + wait.text());
    static_cast<void>(pause_for(kChangeReportPollPause, {}));
  } while (!wait.is_over(clock_.now()));
  check();
  // If the program caught an exception of Ratoon and did not throw it again, throw it now.
  if (data_wait_error_) std::rethrow_exception(data_wait_error_);
  if (wait.was_coordinator_silent()) {
    fail(ExitCode::kStartAgain, ended_by + ", and the coordinator, which knows whether the world changed, " +
                                    "did not answer for " +
                                    std::to_string(wait.patience() / std::chrono::seconds(1)) +
                                    " s: this process starts again; " + wait_and_describe_saved(give_up));
  }
  return give_up;
}

// A program may throw Interrupted because one of its own collectives failed. The program's collective may
// notice a lost rank before the session does.
std::exception_ptr Session::Engine::classify_interruption(const Interrupted& thrown) {
  const auto* of_session = dynamic_cast<const AttemptOver*>(&thrown);
  if (of_session != nullptr && of_session->attempt == assignment_.attempt) return std::current_exception();
  const std::string threw = std::string("the program threw ratoon::Interrupted: ") + thrown.what();
  try {
    const Timestamp give_up = wait_for_change_report(threw);
    throw Failure(kProgramErrorExitCode,
                  threw + "; the set of processes had not changed " + describe_position() +
                      ", so the training function is not called again: throw another type "
                      "of exception for other errors; " +
                      wait_and_describe_saved(give_up));
  } catch (...) {
    return std::current_exception();
  }
}

void Session::Engine::end_with_exception() {
  std::exception_ptr ends = std::current_exception();
  try {
    throw;
  } catch (const Interrupted& thrown) {
    ends = classify_interruption(thrown);
  } catch (...) {
    // Keep an exception that is no Interrupted, because the exception already explains why the attempt ends.
  }
  end_reporting();
  std::rethrow_exception(ends);
}

std::exception_ptr Session::Engine::explain_incomplete_run(const std::string& ended_by,
                                                           const std::string& how_to_end, bool waits) {
  const std::string sentence = ended_by + " " + describe_position();
  try {
    const Timestamp give_up = waits ? wait_for_change_report(sentence) : clock_.now();
    fail(ExitCode::kConfiguration, sentence + how_to_end + "; " + wait_and_describe_saved(give_up));
  } catch (...) {
    return std::current_exception();
  }
}

void Session::Engine::refuse_early_end(const std::string& ended_by, const std::string& how_to_end) {
  const Timestamp give_up = wait_for_change_report(ended_by);
  if (!schedule_) {
    fail(ExitCode::kConfiguration,
         ended_by + ": call steps(); a run is complete when the loop over steps() ends, or after finish()");
  }
  const char* const advice = requests_.needs_agreement()
                                 ? ": finish() and save() take effect when a step ends, so "
                                 : ": to end the run early, call finish() and ";
  fail(ExitCode::kConfiguration, ended_by + advice + how_to_end + wait_and_describe_saved(give_up));
}

bool Session::Engine::ends_at_known_step() const {
  const Until& until = schedule_->until();
  return until.unit() != CountedIn::kSteps || until.total(schedule_->position()) != kStepsWithoutEnd;
}

void Session::Engine::end_in_place() {
  if (!schedule_)
    fail(ExitCode::kConfiguration, "complete() was called before resume(): call resume() first");
  if (is_done()) return;
  const std::string called = "complete() was called " + describe_position();
  drain_->receive_order(link_.outside_requests(), clock_.now());
  const auto told = drain_->find_exit_code_of_return(clock_.now());
  if (!told && ends_at_known_step()) {
    // Do not save, because the program may have changed only a part of its state.
    refuse_early_end(called, "let the loop end where step_done() is false or is_over() is true; ");
  }
  if (!told) schedule_->end_early();
  // If this step is already saved, finish() applies later requests to the checkpoint of this step.
  if (saved_step_ != position_.step) save(told ? 0 : requests_.end_run());
  if (!told) return;
  // Wait for commits even if the set of processes changes, because other ranks may leave at a different step.
  static_cast<void>(wait_for_commits_in_any_world(drain_->remaining_commit_time(clock_.now())));
  fail(*told, called + kOrderedToLeaveText + describe_saved());
}

void Session::Engine::refuse_step_after_end() {
  const std::string made = "a step was made after the run's end, step " +
                           std::to_string(position_.step.value()) + " (" + schedule_->until().text() + ")";
  std::optional<Timestamp> told;
  static_cast<void>(wait_until_committed(kLastCommitTimeout, [&](const checkpoint::SaveProgress&) {
    const Timestamp now = clock_.now();
    drain_->receive_order(link_.outside_requests(), now);
    const auto code = drain_->find_exit_code_of_return(now);
    if (!code) return told.reset();
    if (!told) told = now;
    if (now - *told >= kLeavingCommitTimeout) fail(*code, made + kLeftOnOrderText + describe_saved());
  }));
  fail(ExitCode::kConfiguration,
       made + ": let the loop end where step_done() is false or is_over() is true; " + describe_saved());
}

// Only ranks on which the program called finish() know the reason of the call, so only these ranks report it.
void Session::Engine::store_finish_reason(const std::string& reason) {
  position_.finish_reason = cut_text(as_utf8(reason), kFinishReasonBytesMax);
}

void Session::Engine::report_finished() {
  const std::string& reason = requests_.due().finish;
  say("finished at step " + std::to_string(position_.step.value()) + ": " +
      (reason.empty() ? std::string(checkpoint::kReasonOfAnotherRank) : reason));
}

void Session::Engine::finish() {
  // finish() cannot save, because the tracked objects may have been destroyed when the training function
  // returned.
  const bool is_committed = wait_for_last_commit();
  if (is_committed && position_.committed && position_.committed->step == position_.step) {
    write_final_weights_file();  // first: a pin may fail now and at each later start
    pin_for_late_requests();
    return report_best_checkpoints();
  }
  fail(ExitCode::kStorage,
       "the last checkpoint of the training could not be saved, so the run is not complete: " +
           poll_saves().last_error);
}

void Session::Engine::report_best_checkpoints() {
  if (!is_rank_0()) return;
  best_checkpoints_.remove_missing([this](const auto& id) { return is_checkpoint_missing(id); });
  if (!best_checkpoints_.lists().empty()) say("best: " + best_checkpoints_.text());
}

void Session::Engine::unpin_for_late_requests() {
  for (const std::uint64_t step : requests_.take_unsaved_unpin_steps()) {
    if (const auto removed = locations_.unpin_step(Step(step)); !removed) {
      say("the checkpoint of step " + std::to_string(step) + " is not unpinned as unpin() requested: " +
          removed.error().message() + "; run `ratoon checkpoint unpin`");
    }
  }
}

void Session::Engine::pin_for_late_requests() {
  auto late = requests_.take_late_requests();
  const checkpoint::CheckpointId last = checkpoint::id_of(position_.committed.value());
  // If save_best() was called after the last save, pin the checkpoint now.
  if (const std::string best = best_checkpoints_.record_saved(last); late.keep.empty()) late.keep = best;
  if (!late.keep.empty()) {
    const auto pinned = locations_.pin(last, late.keep);
    if (!pinned && pinned.error().kind() == ErrorKind::kNoSpace) {
      // If the disk is too full for the pin, do not fail, because a restart could not free space.
      say("the last checkpoint is not pinned as save() requested (" + late.keep +
          "): " + pinned.error().message() + "; free space, and run `ratoon checkpoint pin`");
    } else if (!pinned) {
      fail(ExitCode::kStorage, "the last checkpoint is not pinned as save() requested (" + late.keep +
                                   "): " + pinned.error().message() + "; start again to pin it");
    }
  }
  if (!late.ticket) return;
  late.ticket->reach(SaveLevel::kCommitted);
  locations_.complete_after_copies(last, *late.ticket);
}

void Session::Engine::write_final_weights_file() {
  const auto file = session::final_weights_file(options_);
  if (!is_rank_0() || !position_.committed || !tracked_objects_.has_weights()) return;
  if (file.empty()) {
    const std::string advice = session::missing_weights_advice(options_);
    if (!advice.empty()) say(advice);
    return;
  }
  Assignment alone = assignment_;
  alone.world_size = 1;
  alone.resume = ResumePoint{.attempt = position_.committed->attempt,
                             .step = position_.committed->step,
                             .digest = position_.committed->digest};
  const auto is_weight = [this](std::string_view name) { return tracked_objects_.is_weight(name); };
  const auto create = [&] { return checkpoint::replace_with_timeout(file, locations_.calls()); };
  best_checkpoints_.remove_missing([this](const auto& id) { return is_checkpoint_missing(id); });
  const std::string& best = best_checkpoints_.text();
  // If the weights file cannot be written, do not fail, because the checkpoint contains the weights
  // too.
  Result<std::size_t> written = Error(ErrorKind::kIo, "nothing was read");
  try {
    const auto read = locations_.restore(alone, [&](checkpoint::CheckpointReader& reader) -> Result<void> {
      written =
          session::write_final_weights(reader, is_weight, options_.run_name, *alone.resume, best, create);
      const bool is_of_checkpoint = !written && written.error().kind() == ErrorKind::kCorrupted;
      return is_of_checkpoint ? Result<void>(written.error()) : Result<void>();
    });
    if (!read) written = read.error();
  } catch (const std::exception& why) {
    written = Error(ErrorKind::kIo, why.what());
  }
  if (!written) {
    say("the weights could not be written to " + file.string() + ": " + written.error().message() +
        "; `ratoon checkpoint export` can write them");
  } else if (*written != 0) {
    if (file.native().size() <= kWeightsBytesMax) position_.weights = file.string();
    say("the weights of step " + std::to_string(alone.resume->step.value()) + " are in " + file.string());
  }
}

}  // namespace ratoon
