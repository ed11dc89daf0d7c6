#include "launcher/program_control.h"

#include <algorithm>

#include "base/contract/exit_code.h"
#include "base/contract/names.h"

namespace ratoon::launcher {
namespace {

constexpr int kSettleBeats = 5;
constexpr Duration kPauseOfShortage = std::chrono::seconds(1);

}  // namespace

void ProgramControl::note_assignment(const Assignment& assignment) {
  unheard_.reset();
  if (state_ == State::kJoining) assignment_ = assignment;
}

void ProgramControl::note_orders(const Orders& orders, Timestamp now) {
  unheard_.reset();
  newest_attempt_ = std::max(newest_attempt_, orders.attempt);
  hand_over_ = orders.hand_over ? orders.attempt : Attempt(0);
  reason_ = orders.reason;
  node_ends_at_.reset();
  if (orders.drain_deadline_seconds) node_ends_at_ = now + from_seconds(*orders.drain_deadline_seconds);
  if (orders.stop) record_stop("the job is over: " + orders.reason);
}

void ProgramControl::note_refusal(const Refusal& refusal) {
  if (refusal.kind == names::refusal::kSuperseded) fenced_ = refusal.message;
  if (refusal.kind == names::refusal::kFinished) record_stop(refusal.message);
}

void ProgramControl::note_no_coordinator(const std::string& why) {
  unheard_ = why;
}

void ProgramControl::record_stop(const std::string& reason) {
  if (!stop_) stop_ = reason;
}

void ProgramControl::record_failed_start(Timestamp now) {
  state_ = State::kToStart;
  not_before_ = now + kPauseOfShortage;
}

void ProgramControl::note_end_of_program(ProcessEnd ended, Timestamp now) {
  const bool was_leaving = state_ == State::kLeaving;
  has_ended_by_itself_ = !was_leaving;
  kill_at_.reset();
  is_killed_ = false;
  if (was_leaving) return note_end_of_leaving(ended);
  if (ended.code == static_cast<int>(ExitCode::kDone)) return finish(ended.code);
  if (is_world_over()) return rejoin(false);  // the failure is a result of the loss that ended the world
  if (!ended.was_killed) {
    exit_code_ = ended.code;
    settles_at_ = now + settle_;
    state_ = State::kSettling;
    return;
  }
  if (!supervisor_.record_end(0, ended, now)) return finish(ended.code);
  rejoin(true);
  not_before_ = supervisor_.next_start_time();
}

void ProgramControl::note_end_of_leaving(ProcessEnd ended) {
  if (leave_ == Leave::kWorld || leave_ == Leave::kHandOver) return rejoin(false);
  if (leave_ == Leave::kFenced) return finish(static_cast<int>(ExitCode::kStartAgain));
  // A program that exits with 0 after SIGTERM has saved, but it has not completed its work.
  const bool has_left = leave_ == Leave::kNodeEnd || ended.code == static_cast<int>(ExitCode::kDone);
  finish(has_left ? static_cast<int>(ExitCode::kPreempted) : ended.code);
}

void ProgramControl::finish(int code) {
  exit_code_ = code;
  state_ = State::kEnding;
}

void ProgramControl::rejoin(bool is_new_start) {
  left_ = attempt_;
  attempt_ = Attempt(0);
  is_new_start_ = is_new_start;
  assignment_.reset();
  not_before_.reset();
  state_ = State::kToJoin;
}

std::optional<ProgramAction> ProgramControl::next(Timestamp now) {
  switch (state_) {
    case State::kToJoin:
    case State::kJoining:
    case State::kToStart:
      return next_of_waiting(now);
    case State::kRunning:
      return next_of_running(now);
    case State::kLeaving:
      return next_of_leaving(now);
    case State::kSettling:
      return next_of_settling(now);
    case State::kEnding:
      return end_after_program();
    case State::kOver:
      break;
  }
  return std::nullopt;
}

std::optional<ProgramAction> ProgramControl::next_of_waiting(Timestamp now) {
  if (fenced_) return end(static_cast<int>(ExitCode::kStartAgain), *fenced_);
  if (stop_) return end(static_cast<int>(ExitCode::kPreempted), *stop_);
  if (unheard_) return end(static_cast<int>(ExitCode::kStorage), *unheard_);
  if (not_before_ && now < *not_before_) return std::nullopt;
  if (state_ == State::kToJoin) {
    state_ = State::kJoining;
    return JoinWorld{.left = is_new_start_ ? Attempt(0) : left_,
                     .has_been_in_world = has_been_in_world_ && !is_new_start_,
                     .is_new_start = is_new_start_};
  }
  if (!assignment_) return std::nullopt;
  attempt_ = assignment_->attempt;
  has_been_in_world_ = true;
  if (has_world_ended()) {  // before the program was started
    rejoin(false);
    return next_of_waiting(now);
  }
  state_ = State::kRunning;
  not_before_.reset();
  settle_ = std::max(times_.settle_min, kSettleBeats * from_seconds(assignment_->beat_seconds));
  supervisor_.record_start(0, now);
  return StartProgram{*assignment_};
}

std::optional<Timestamp> ProgramControl::latest_notice() const {
  if (!node_ends_at_) return std::nullopt;
  return *node_ends_at_ - times_.grace;
}

Timestamp ProgramControl::end_of_grace(Timestamp now) const {
  const Timestamp end_of_grace = now + times_.grace;
  return std::min(node_ends_at_.value_or(end_of_grace), end_of_grace);
}

Timestamp ProgramControl::end_of_fenced(Timestamp now) const {
  return node_ends_at_ ? std::clamp(*node_ends_at_, now, now + times_.leave) : now;
}

std::optional<ProgramAction> ProgramControl::next_of_running(Timestamp now) {
  if (fenced_) return tell(Leave::kFenced, end_of_fenced(now), *fenced_);
  if (stop_) return tell(Leave::kStop, end_of_grace(now), *stop_);
  if (has_world_ended()) return tell(Leave::kWorld, now + times_.leave, reason_);
  if (hand_over_ == attempt_)
    return tell(Leave::kHandOver, end_of_grace(now), "all processes of the world hand over to a replacement");
  const auto notice_at = latest_notice();
  if (notice_at && now >= *notice_at)
    return tell(Leave::kNodeEnd, *node_ends_at_, "the node of this process ends");
  return std::nullopt;
}

std::optional<ProgramAction> ProgramControl::next_of_leaving(Timestamp now) {
  // The program may be saving, so it keeps the time that it was given when it was told to leave.
  if (fenced_) leave_ = Leave::kFenced;
  if (stop_) leave_ = std::max(leave_, Leave::kStop);
  if (is_killed_ || now < *kill_at_) return std::nullopt;
  is_killed_ = true;
  return KillProgram{};
}

std::optional<ProgramAction> ProgramControl::next_of_settling(Timestamp now) {
  if (!stop_ && !fenced_) {
    if (is_world_over()) {
      rejoin(false);
      return next_of_waiting(now);
    }
    if (now < *settles_at_) return std::nullopt;
  }
  return end_after_program();
}

ProgramAction ProgramControl::tell(Leave leave, Timestamp deadline, const std::string& reason) {
  state_ = State::kLeaving;
  leave_ = leave;
  kill_at_ = deadline;
  return TellToLeave{.deadline = deadline, .reason = reason};
}

ProgramAction ProgramControl::end(int code, const std::string& why) {
  state_ = State::kOver;
  return EndLauncher{.code = code, .why = why};
}

ProgramAction ProgramControl::end_after_program() {
  state_ = State::kOver;
  return EndLauncher{.code = exit_code_, .why = "", .is_code_of_program = has_ended_by_itself_};
}

std::optional<Timestamp> ProgramControl::wake_at() const {
  switch (state_) {
    case State::kToJoin:
    case State::kToStart:
      return not_before_;
    case State::kRunning:
      return latest_notice();
    case State::kLeaving:
      return is_killed_ ? std::nullopt : kill_at_;
    case State::kSettling:
      return settles_at_;
    case State::kJoining:
    case State::kEnding:
    case State::kOver:
      break;
  }
  return std::nullopt;
}

}  // namespace ratoon::launcher
