// Ends an attempt. An attempt ends at the run's end, after the last step was saved, or because the training
// function returned early.
#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <optional>
#include <string>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/disk/replacing_file.h"
#include "agent/src/session/engine/engine.h"
#include "agent/src/session/engine/news_wait.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/state/final_weights.h"
#include "agent/src/session/telemetry/say.h"
#include "base/core/pause.h"
#include "base/core/utf8.h"

namespace ratoon {

using session::fail;

namespace {

// How long to wait for a save in progress after the program has left its loop over steps.
constexpr auto kLeavingPatience = std::chrono::seconds(10);
constexpr auto kNewsPause = std::chrono::milliseconds(10);
constexpr auto kLastCommitPatience = std::chrono::seconds(60);
constexpr auto kCommitUnderWay = std::chrono::seconds(1);  // after the process was asked to leave

// The exit code that train() returns for any exception of the program.
constexpr int kErrorOfProgram = 1;

// The number of steps of a run whose program decides the end itself.
constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

constexpr const char* kLeftSince = ", and this process left because it was told to leave; ";
constexpr const char* kToldToLeave = " because it was told to leave; ";

}  // namespace

std::string Session::Engine::describe_position() const {
  if (!schedule_) return "before its first step";
  const std::string step = "at step " + std::to_string(position_.step.value());
  const Until& until = schedule_->until();
  if (until.unit() != CountedIn::kSteps) return step + ", before " + until.text();
  const std::uint64_t total = until.total(schedule_->position());
  return total == kNoEnd ? step : step + " of " + std::to_string(total);
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

std::string Session::Engine::describe_saved_by(Timestamp give_up) {
  static_cast<void>(wait_for_commits_in_any_world(std::max(Duration(0), give_up - clock_.now())));
  return describe_saved();
}

void Session::Engine::refuse_early_return() {
  refuse_early_end("the training function returned " + describe_position(),
                   "let the loop over steps() end by itself; ");
}

Timestamp Session::Engine::wait_for_news(const std::string& ended_by) {
  const Timestamp give_up = clock_.now() + kLeavingPatience;
  session::NewsWait wait(clock_.now());
  do {
    check();
    drain_->hear(link_.wanted(), clock_.now());
    if (const auto code = drain_->explains_return(clock_.now())) {
      const Timestamp leaves = clock_.now() + drain_->time_to_commit(clock_.now());
      fail(*code, ended_by + kToldToLeave + describe_saved_by(std::min(give_up, leaves)));
    }
    // Wait for a report of a lost rank, because the loss may have failed a collective and so made this rank
    // return.
    if (assignment_.world_size == 1) break;
    enter(ProcessPhase::kCollective);
    wait.note(link_.change_signs());
    if (wait.is_report_due(clock_.now())) say(ended_by + ", and this process " + wait.text());
    static_cast<void>(pause_for(kNewsPause, {}));
  } while (!wait.is_over(clock_.now()));
  check();
  // If the program caught an exception of Ratoon and did not throw it again, throw it now.
  if (failed_wait_) std::rethrow_exception(failed_wait_);
  if (wait.was_coordinator_silent()) {
    fail(ExitCode::kStartAgain, ended_by + ", and the coordinator, which knows whether the world changed, " +
                                    "did not answer for " +
                                    std::to_string(wait.patience() / std::chrono::seconds(1)) +
                                    " s: this process starts again; " + describe_saved_by(give_up));
  }
  return give_up;
}

// A program may throw Interrupted because one of its own collectives failed. The program may therefore notice
// a lost rank before the session does.
std::exception_ptr Session::Engine::classify_interruption(const Interrupted& thrown) {
  const auto* of_session = dynamic_cast<const AttemptOver*>(&thrown);
  if (of_session != nullptr && of_session->attempt == assignment_.attempt) return std::current_exception();
  const std::string threw = std::string("the program threw ratoon::Interrupted: ") + thrown.what();
  try {
    const Timestamp give_up = wait_for_news(threw);
    throw Failure(kErrorOfProgram, threw + "; the set of processes had not changed " + describe_position() +
                                       ", so the training function is not called again: throw another type "
                                       "of exception for other errors; " +
                                       describe_saved_by(give_up));
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
    // The exception of wait_for_news() explains why the attempt ends.
  }
  end_reporting();
  std::rethrow_exception(ends);
}

std::exception_ptr Session::Engine::why_not_complete(const std::string& ended_by,
                                                     const std::string& how_to_end, bool waits) {
  const std::string sentence = ended_by + " " + describe_position();
  try {
    const Timestamp give_up = waits ? wait_for_news(sentence) : clock_.now();
    fail(ExitCode::kConfiguration, sentence + how_to_end + "; " + describe_saved_by(give_up));
  } catch (...) {
    return std::current_exception();
  }
}

void Session::Engine::refuse_early_end(const std::string& ended_by, const std::string& how_to_end) {
  const Timestamp give_up = wait_for_news(ended_by);
  if (!schedule_) {
    fail(ExitCode::kConfiguration,
         ended_by + ": call steps(); a run is complete when the loop over steps() ends, or after finish()");
  }
  const char* const advice = requests_.needs_agreement()
                                 ? ": finish() and save() take effect when a step ends, so "
                                 : ": to end the run early, call finish() and ";
  fail(ExitCode::kConfiguration, ended_by + advice + how_to_end + describe_saved_by(give_up));
}

bool Session::Engine::has_end() const {
  const Until& until = schedule_->until();
  return until.unit() != CountedIn::kSteps || until.total(schedule_->position()) != kNoEnd;
}

void Session::Engine::end_in_place() {
  if (!schedule_)
    fail(ExitCode::kConfiguration, "complete() was called before resume(): call resume() first");
  if (is_done()) return;
  const std::string called = "complete() was called " + describe_position();
  drain_->hear(link_.wanted(), clock_.now());
  const auto told = drain_->explains_return(clock_.now());
  if (!told && has_end()) {
    // Do not save, because the program may have changed only a part of its state.
    refuse_early_end(called, "let the loop end where step_done() is false or is_over() is true; ");
  }
  if (!told) schedule_->end_before_time();
  // If this step is already saved, later requests apply to its checkpoint, and finish() handles them.
  if (saved_step_ != position_.step) save(told ? 0 : requests_.end_run());
  if (!told) return;
  // A change of the set of processes does not end the wait, because other ranks may leave at another step.
  static_cast<void>(wait_for_commits_in_any_world(drain_->time_to_commit(clock_.now())));
  fail(*told, called + kToldToLeave + describe_saved());
}

void Session::Engine::refuse_step_after_end() {
  const std::string made = "a step was made after the run's end, step " +
                           std::to_string(position_.step.value()) + " (" + schedule_->until().text() + ")";
  std::optional<Timestamp> told;
  static_cast<void>(wait_until_committed(kLastCommitPatience, [&](const checkpoint::SaveProgress&) {
    const Timestamp now = clock_.now();
    drain_->hear(link_.wanted(), now);
    const auto code = drain_->explains_return(now);
    if (!code) return told.reset();
    if (!told) told = now;
    if (now - *told >= kCommitUnderWay) fail(*code, made + kLeftSince + describe_saved());
  }));
  fail(ExitCode::kConfiguration,
       made + ": let the loop end where step_done() is false or is_over() is true; " + describe_saved());
}

// Only ranks on which the program called finish() know the reason, so only these ranks report it.
void Session::Engine::tell_finish_reason(const std::string& reason) {
  position_.finish_reason = cut_text(as_utf8(reason), kFinishReasonBytesMax);
}

void Session::Engine::say_that_it_is_finished() {
  const std::string& reason = requests_.due().finish;
  say("finished at step " + std::to_string(position_.step.value()) + ": " +
      (reason.empty() ? std::string(checkpoint::kAnotherRank) : reason));
}

void Session::Engine::finish() {
  // Nothing can be saved here, because the tracked objects may have been destroyed when the training function
  // returned.
  const bool is_committed = wait_for_last_commit();
  if (is_committed && position_.committed && position_.committed->step == position_.step) {
    leave_weights();  // first: a pin may fail now and at each later start
    serve_late_requests();
    return say_best();
  }
  fail(ExitCode::kStorage,
       "the last checkpoint of the training could not be saved, so the run is not complete: " +
           look_at_saves().last_error);
}

void Session::Engine::say_best() {
  if (!is_first()) return;
  best_.forget_missing([this](const auto& id) { return is_missing(id); });
  if (!best_.lists().empty()) say("best: " + session::describe_best(best_.lists()));
}

void Session::Engine::serve_late_requests() {
  auto late = requests_.take_late();
  const checkpoint::CheckpointId last = checkpoint::id_of(position_.committed.value());
  // save_best() was called after the last save, so pin the checkpoint now.
  if (const std::string best = best_.take(last); late.keep.empty()) late.keep = best;
  if (!late.keep.empty()) {
    const auto pinned = places_.pin(last, late.keep);
    if (!pinned && pinned.error().kind() == ErrorKind::kNoSpace) {
      // The run is complete even if the disk is full, because a later start could not free space.
      say("the last checkpoint is not pinned, and save() asked for it (" + late.keep +
          "): " + pinned.error().message() + "; free space, and `ratoon checkpoint pin` does it");
    } else if (!pinned) {
      fail(ExitCode::kStorage, "the last checkpoint is not pinned, and save() asked for it (" + late.keep +
                                   "): " + pinned.error().message() + "; start again to pin it");
    }
  }
  if (!late.ticket) return;
  late.ticket->reach(SaveLevel::kCommitted);
  places_.await_copies(last, *late.ticket);
}

void Session::Engine::leave_weights() {
  const auto file = session::final_weights_file(options_);
  if (!is_first() || file.empty() || !position_.committed || !tracked_.has_weights()) return;
  Assignment alone = assignment_;
  alone.world_size = 1;
  alone.resume = ResumePoint{.attempt = position_.committed->attempt,
                             .step = position_.committed->step,
                             .digest = position_.committed->digest};
  const auto is_weight = [this](std::string_view name) { return tracked_.is_weight(name); };
  const auto create = [&] { return checkpoint::replace_with_timeout(file, places_.calls()); };
  // An error of the weights file does not fail the run, because another save of the checkpoint would not
  // correct it.
  Result<std::size_t> written = Error(ErrorKind::kIo, "nothing was read");
  try {
    const auto read = places_.restore(alone, [&](checkpoint::CheckpointReader& reader) -> Result<void> {
      written = session::write_final_weights(reader, is_weight, options_.run_name, *alone.resume, create);
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
