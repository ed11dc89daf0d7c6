// How an attempt ends: with the run, whose last step is saved then, or because the function left it early.
#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <optional>
#include <string>

#include "agent/src/checkpoint/disk/replacing_file.h"
#include "agent/src/session/engine.h"
#include "agent/src/session/fail.h"
#include "agent/src/session/final_weights.h"
#include "agent/src/session/say.h"
#include "base/core/pause.h"

namespace ratoon {

using session::fail;

namespace {

// A loss that made the function return is known to others, at the latest, after so long. As long is waited
// for a save that is under way.
constexpr auto kLeavingPatience = std::chrono::seconds(10);
constexpr auto kNewsPause = std::chrono::milliseconds(10);
constexpr auto kLastCommitPatience = std::chrono::seconds(60);
constexpr auto kCommitUnderWay = std::chrono::seconds(1);  // once the process is told to leave

// As train() ends with any exception of the program.
constexpr int kErrorOfProgram = 1;

// The end of a run that has none.
constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

constexpr const char* kLeftSince = ", and this process left because it was told to; ";
constexpr const char* kToldToLeave = " because it was told to leave; ";

}  // namespace

std::string Session::Engine::where_it_stands() const {
  if (!course_) return "before its first step";
  const std::string step = "at step " + std::to_string(position_.step.value());
  const Until& until = course_->until();
  if (until.unit() != CountedIn::kSteps) return step + ", before " + until.text();
  const std::uint64_t total = until.total(course_->position());
  return total == kNoEnd ? step : step + " of " + std::to_string(total);
}

std::string Session::Engine::what_is_saved() const {
  if (!saved_step_) return "nothing is saved yet";
  const auto name_of = [this](Step step) {
    return step == position_.step ? std::string("that step") : "step " + std::to_string(step.value());
  };
  if (!position_.committed)
    return "the save of " + name_of(*saved_step_) + " is not committed, and there is none before it";
  const Step committed = position_.committed->step;
  if (committed != *saved_step_)
    return "the save of " + name_of(*saved_step_) + " is not committed, and the last one that is, is of " +
           name_of(committed);
  return committed == position_.step ? "that step is saved"
                                     : "the last save is that of " + name_of(committed);
}

std::string Session::Engine::what_is_saved_by(Timestamp give_up) {
  static_cast<void>(wait_for_commits_in_any_world(std::max(Duration(0), give_up - clock_.now())));
  return what_is_saved();
}

void Session::Engine::refuse_early_return() {
  refuse_early_end("the training function returned " + where_it_stands(),
                   "let the loop over steps() end by itself; ");
}

Timestamp Session::Engine::wait_for_news(const std::string& what_ended) {
  const Timestamp give_up = clock_.now() + kLeavingPatience;
  do {
    check();
    drain_->hear(link_.wanted(), clock_.now());
    if (const auto code = drain_->explains_return(clock_.now())) {
      const Timestamp leaves = clock_.now() + drain_->time_to_commit(clock_.now());
      fail(*code, what_ended + kToldToLeave + what_is_saved_by(std::min(give_up, leaves)));
    }
    // Who returned since a collective had failed is a little faster than the news of the loss.
    if (assignment_.world_size == 1) break;
    enter(ProcessPhase::kCollective);
    static_cast<void>(pause_for(kNewsPause, {}));
  } while (clock_.now() < give_up);
  // It was caught, and not let pass.
  if (failed_wait_) std::rethrow_exception(failed_wait_);
  return give_up;
}

// Ranks may throw one where a collective of their own failed, and know of the loss before the session does.
std::exception_ptr Session::Engine::what_an_interruption_is(const Interrupted& thrown) {
  const auto* of_session = dynamic_cast<const AttemptOver*>(&thrown);
  if (of_session != nullptr && of_session->attempt == assignment_.attempt) return std::current_exception();
  const std::string threw = std::string("the program threw ratoon::Interrupted: ") + thrown.what();
  try {
    const Timestamp give_up = wait_for_news(threw);
    throw Failure(kErrorOfProgram, threw + "; the world had not changed " + where_it_stands() +
                                       ", so the training function is not called again: throw another type "
                                       "where the program fails; " +
                                       what_is_saved_by(give_up));
  } catch (...) {
    return std::current_exception();
  }
}

void Session::Engine::end_with_exception() {
  std::exception_ptr ends = std::current_exception();
  try {
    throw;
  } catch (const Interrupted& thrown) {
    ends = what_an_interruption_is(thrown);
  } catch (...) {
    // It says by itself why the attempt ends.
  }
  end_reporting();
  std::rethrow_exception(ends);
}

std::exception_ptr Session::Engine::why_not_complete(const std::string& what_ended,
                                                     const std::string& how_to_end, bool waits) {
  const std::string sentence = what_ended + " " + where_it_stands();
  try {
    const Timestamp give_up = waits ? wait_for_news(sentence) : clock_.now();
    fail(ExitCode::kConfiguration, sentence + how_to_end + "; " + what_is_saved_by(give_up));
  } catch (...) {
    return std::current_exception();
  }
}

void Session::Engine::refuse_early_end(const std::string& what_ended, const std::string& how_to_end) {
  const Timestamp give_up = wait_for_news(what_ended);
  if (!course_) {
    fail(ExitCode::kConfiguration,
         what_ended + ": call steps(); a run is complete at its end, or where finish() ended it");
  }
  const char* const advice = wishes_.needs_agreement()
                                 ? ": finish() and save() take effect when a step ends, so "
                                 : ": call finish() where the run is to end there, and ";
  fail(ExitCode::kConfiguration, what_ended + advice + how_to_end + what_is_saved_by(give_up));
}

bool Session::Engine::has_end() const {
  const Until& until = course_->until();
  return until.unit() != CountedIn::kSteps || until.total(course_->position()) != kNoEnd;
}

void Session::Engine::end_in_place() {
  if (!course_) fail(ExitCode::kConfiguration, "complete() belongs behind resume()");
  if (is_done()) return;
  const std::string called = "complete() was called " + where_it_stands();
  drain_->hear(link_.wanted(), clock_.now());
  const auto told = drain_->explains_return(clock_.now());
  if (!told && has_end()) {
    // What the state is of that such a program has, nobody knows: it is not saved.
    refuse_early_end(called, "let the loop end where step_done() is false or is_over() is true; ");
  }
  if (!told) course_->end_before_time();
  const std::uint32_t asked = told ? 0 : wishes_.end_run();
  if (saved_step_ != position_.step) save(asked);
  if (!told) return;
  // Ranks that left in another step have changed the world: that is nothing to us.
  static_cast<void>(wait_for_commits_in_any_world(drain_->time_to_commit(clock_.now())));
  fail(*told, called + kToldToLeave + what_is_saved());
}

void Session::Engine::refuse_step_after_end() {
  const std::string made = "a step was made after the run's end, step " +
                           std::to_string(position_.step.value()) + " (" + course_->until().text() + ")";
  std::optional<Timestamp> told;
  static_cast<void>(wait_until_committed(kLastCommitPatience, [&](const checkpoint::SaveProgress&) {
    const Timestamp now = clock_.now();
    drain_->hear(link_.wanted(), now);
    const auto code = drain_->explains_return(now);
    if (!code) return told.reset();
    if (!told) told = now;
    if (now - *told >= kCommitUnderWay) fail(*code, made + kLeftSince + what_is_saved());
  }));
  fail(ExitCode::kConfiguration,
       made + ": let the loop end where step_done() is false or is_over() is true; " + what_is_saved());
}

void Session::Engine::say_that_it_is_finished() {
  const std::string& reason = wishes_.due().finish;
  say("finished at step " + std::to_string(position_.step.value()) + ": " +
      (reason.empty() ? std::string(checkpoint::kAnotherRank) : reason));
}

void Session::Engine::finish() {
  // What is tracked lived in the function and may be gone: steps after the last save are not in it.
  const bool is_committed = wait_for_last_commit();
  if (is_committed && position_.committed && position_.committed->step == position_.step)
    return leave_weights();
  fail(ExitCode::kStorage,
       "the last checkpoint of the training could not be saved, so that it is not done: " +
           look_at_saves().last_error);
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
  const auto create = [&] { return checkpoint::replace_patiently(file, places_.calls()); };
  // What is wrong with the file is nothing that another copy of the checkpoint would mend.
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
    say("the weights are not left in " + file.string() + ": " + written.error().message() +
        "; `ratoon checkpoint export` does it");
  } else if (*written != 0) {
    if (file.native().size() <= kWeightsBytesMax) position_.weights = file.string();
    say("the weights of step " + std::to_string(alone.resume->step.value()) + " are in " + file.string());
  }
}

}  // namespace ratoon
