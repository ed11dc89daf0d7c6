// A session in place: it has one attempt, and what ends that ends the process.
#include <cstdint>
#include <limits>

#include "agent/src/session/attempts.h"
#include "agent/src/session/fail.h"
#include "agent/src/session/last_words.h"
#include "agent/src/session/leaving.h"
#include "base/contract/exit_code.h"
#include "base/core/ignore_signal.h"

namespace ratoon {

Session::Session(Result<Options> options) {
  ignore_signals_of_writes();
  try {
    if (session::is_only_asked_for_help(options)) session::leave_now(static_cast<int>(ExitCode::kDone));
    attempts_ = std::make_unique<Attempts>(*std::move(options), Attempts::HowMany::kOne);
    engine_ = attempts_->next();
  } catch (...) {
    session::leave_now(session::say_why("the session"));
  }
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
  return session::leave(static_cast<int>(ExitCode::kDone));
}

void Session::answer(const std::function<void()>& act) const {
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
