// A session "in place" is a Session that the program creates itself, without train(), and that has one
// attempt. When the only attempt of a session in place ends, the process ends too.
#include <cstdint>
#include <exception>
#include <limits>

#include "agent/src/session/api/attempt_loop.h"
#include "agent/src/session/shutdown/exit_report.h"
#include "agent/src/session/shutdown/exit_watch.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/shutdown/process_exit.h"
#include "base/contract/exit_code.h"
#include "base/core/threads/ignore_signal.h"

namespace ratoon {
namespace {

constexpr const char* kWithoutComplete =
    " without complete(): return session.complete() after the loop, and let the loop end by itself";

}  // namespace

Session::Session(Result<Options> options) {
  ignore_broken_output_signals();
  try {
    if (session::is_help_request(options)) session::exit_now(static_cast<int>(ExitCode::kDone));
    attempt_loop_ = std::make_unique<AttemptLoop>(*std::move(options), AttemptLoop::HowMany::kOne);
    engine_ = attempt_loop_->next();
    session::replace_exit_code_zero(
        [this] { return attempt_loop_->report_incomplete(*engine_, "exit() was called", kWithoutComplete); });
  } catch (...) {
    session::end_in_place(session::report_exception("the session"));
  }
}

// The destructor of a session in place does not end the process, because main() may still return an error
// code. The destructor registers a function that replaces exit code 0 when the process ends.
Session::~Session() {
  if (!attempt_loop_ || is_complete_ || is_process_ending_) return;
  session::exit_if_forked();
  const bool is_unwinding = has_checked_interruption_ || std::uncaught_exceptions() > uncaught_exceptions_;
  const auto why =
      engine_->explain_incomplete_run("the program destroyed its Session", kWithoutComplete, !is_unwinding);
  session::replace_exit_code_zero([why] {
    try {
      std::rethrow_exception(why);
    } catch (...) {
      return session::report_exception("the program");
    }
  });
}

void Session::resume() {
  resume(Until::steps(std::numeric_limits<std::uint64_t>::max()));
}

void Session::resume(Until until) {
  last_exception_ = nullptr;  // what the program handled before its loop does not concern the steps
  answer([&] { engine_->begin(until); });
}

bool Session::is_over() const {
  return engine_->is_at_end();
}

bool Session::step_done() {
  answer([&] {
    // If the program caught an exception of this session and continued, the step does not count, because
    // gradients of other ranks may be missing.
    if (const auto swallowed = last_exception_) std::rethrow_exception(swallowed);
    engine_->end_step();
  });
  return !is_over();
}

int Session::complete() {
  if (!attempt_loop_)
    session::fail(
        ExitCode::kConfiguration,
        "complete() is only for a Session without train(): return from the training function instead");
  answer([&] {
    engine_->end_in_place();
    attempt_loop_->complete(*engine_);
  });
  is_complete_ = true;
  session::keep_exit_code_zero();
  return session::leave(static_cast<int>(ExitCode::kDone));
}

void Session::explain(const std::string& ended_by, bool may_be_loss) {
  if (may_be_loss) answer([&] { engine_->leave_if_explained(ended_by); });
  has_checked_interruption_ = true;
}

void Session::answer(const std::function<void()>& act) const {
  session::exit_if_forked();
  // A function that the program gave to on_epoch_end(), for example, may call the session again. If the inner
  // call ends the process by an exception of an embedding program, the outer call passes the exception on.
  const auto ends_process = [this] { return attempt_loop_ && !is_process_ending_; };
  try {
    act();
  } catch (const Interrupted&) {
    if (ends_process()) leave_in_place();
    last_exception_ = std::current_exception();
    throw;
  } catch (const Failure&) {
    if (ends_process()) leave_in_place();
    last_exception_ = std::current_exception();
    throw;
  } catch (...) {
    if (!ends_process()) throw;
    leave_in_place();
  }
}

void Session::refuse_early_return() const {
  if (engine_->is_done()) return;
  // If the program caught an exception of Ratoon and did not throw it again, throw it now.
  if (last_exception_) std::rethrow_exception(last_exception_);
  engine_->refuse_early_return();
}

void Session::leave_in_place() const {
  try {
    attempt_loop_->end(*engine_);
    attempt_loop_->fail_if_still_unreadable();
    session::fail(ExitCode::kStartAgain,
                  "a Session without train() has one attempt: start the program again to continue the run");
  } catch (...) {
    attempt_loop_->finish_staged_saves();
    if (!session::can_end_with_destructors()) attempt_loop_->give_claims_back();
    const int code = session::report_exception("what is tracked");
    is_process_ending_ = true;
    session::replace_exit_code_zero([code] { return code; });  // the program may catch what ends it
    session::end_in_place(code);
  }
}

}  // namespace ratoon
