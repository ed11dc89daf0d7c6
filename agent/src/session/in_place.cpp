// A session in place: it has one attempt, and what ends that ends the process.
#include <cstdint>
#include <exception>
#include <limits>

#include "agent/src/session/attempts.h"
#include "agent/src/session/exit_watch.h"
#include "agent/src/session/fail.h"
#include "agent/src/session/last_words.h"
#include "agent/src/session/leaving.h"
#include "base/contract/exit_code.h"
#include "base/core/ignore_signal.h"

namespace ratoon {
namespace {

constexpr const char* kWithoutComplete =
    " without complete(): return session.complete() behind the loop, which is to end by itself";

}  // namespace

Session::Session(Result<Options> options) {
  ignore_signals_of_writes();
  try {
    if (session::is_only_asked_for_help(options)) session::leave_now(static_cast<int>(ExitCode::kDone));
    attempts_ = std::make_unique<Attempts>(*std::move(options), Attempts::HowMany::kOne);
    engine_ = attempts_->next();
    session::refuse_exit_as_done(
        [this] { return attempts_->say_why_not_complete(*engine_, "exit() was called", kWithoutComplete); });
  } catch (...) {
    session::leave_now(session::say_why("the session"));
  }
}

// main() may return what is no success: that is known when the process ends.
Session::~Session() {
  if (!attempts_ || is_complete_) return;
  session::leave_if_forked();
  const bool is_unwinding = std::uncaught_exceptions() > exceptions_;
  const auto why =
      engine_->why_not_complete("the program left its session in place", kWithoutComplete, !is_unwinding);
  session::refuse_exit_as_done([why] {
    try {
      std::rethrow_exception(why);
    } catch (...) {
      return session::say_why("the program");
    }
  });
}

void Session::resume() {
  resume(Until::steps(std::numeric_limits<std::uint64_t>::max()));
}

void Session::resume(Until until) {
  answer([&] { engine_->begin(until); });
}

bool Session::is_over() const {
  return engine_->is_at_end();
}

bool Session::step_done() {
  answer([&] { engine_->end_step(); });
  thrown_ = nullptr;
  return !is_over();
}

int Session::complete() {
  if (!attempts_)
    session::fail(ExitCode::kConfiguration, "complete() is for a session in place: return instead");
  answer([&] {
    engine_->end_in_place();
    attempts_->complete(*engine_);
  });
  is_complete_ = true;
  session::allow_exit_as_done();
  return session::leave(static_cast<int>(ExitCode::kDone));
}

void Session::answer(const std::function<void()>& act) const {
  session::leave_if_forked();
  try {
    act();
  } catch (const Interrupted&) {
    if (attempts_) leave_in_place();
    thrown_ = std::current_exception();
    throw;
  } catch (const Failure&) {
    if (attempts_) leave_in_place();
    thrown_ = std::current_exception();
    throw;
  } catch (...) {
    if (!attempts_) throw;
    leave_in_place();
  }
}

void Session::refuse_early_return() const {
  if (engine_->is_done()) return;
  // It was caught, and not let pass.
  if (thrown_) std::rethrow_exception(thrown_);
  engine_->refuse_early_return();
}

void Session::leave_in_place() const {
  try {
    attempts_->end(*engine_);
    attempts_->refuse_to_repeat();
    session::fail(ExitCode::kStartAgain,
                  "a session in place has one attempt: start the program again, and it goes on");
  } catch (...) {
    attempts_->let_saves_end();
    session::leave_now(session::say_why("what is tracked"));
  }
}

}  // namespace ratoon
