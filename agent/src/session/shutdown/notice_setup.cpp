#include "agent/src/session/shutdown/notice_setup.h"

#include <chrono>
#include <csignal>
#include <stop_token>
#include <utility>

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"
#include "base/core/threads/pause.h"

namespace ratoon::session {
namespace {

constexpr std::uint64_t kGraceSecondsMax = 86'400;
constexpr auto kFinalAnswerTimeout = std::chrono::seconds(1);     // for an answer that is about to arrive
constexpr auto kKnownEndCheckInterval = std::chrono::seconds(1);  // how often to look for a known end

std::optional<std::string_view> nullopt_if_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

// Slurm's option --signal can announce the end of a job, so under Slurm SIGUSR1 is a notice by default.
// Without Slurm, only a signal that an option names counts as a notice.
Result<int> notice_signal(const NoticeOptions& options) {
  const bool is_batch_job = !options.slurm_job_id.empty();
  const std::string name = options.signal.empty() ? (is_batch_job ? "USR1" : "none") : options.signal;
  if (name == "none") return 0;
  if (name == "USR1" || name == "SIGUSR1") return SIGUSR1;
  if (name == "USR2" || name == "SIGUSR2") return SIGUSR2;
  return Error(ErrorKind::kInvalid, "--notice-signal must be USR1, USR2 or none, found '" + name + "'");
}

// `ends_run` is true if the whole run ends with this process, because one runner on this machine started all
// processes.
Result<preemption::Notices> find_known_end_notices(const NoticeOptions& options, const Clock& clock,
                                                   Timestamp began, bool ends_run) {
  return preemption::read_known_deadlines({.slurm_job_end_time = nullopt_if_empty(options.slurm_job_end_time),
                                           .time_limit = nullopt_if_empty(options.time_limit),
                                           .time_limit_since = nullopt_if_empty(options.time_limit_since),
                                           .ends_run = ends_run,
                                           .began = began,
                                           .now = clock.now(),
                                           .wall_now = clock.wall_now()});
}

std::optional<Timestamp> job_end(NoticeOptions options, const Clock& clock) {
  options.time_limit.clear();
  const auto ends = find_known_end_notices(options, clock, {}, false);
  const auto* const end = ends ? ends->first() : nullptr;
  return end != nullptr ? std::optional(end->deadline) : std::nullopt;
}

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw Failure(static_cast<int>(ExitCode::kConfiguration), result.error().message());
  return *std::move(result);
}

SignalCounts read_signal_counts(const Signals& signals, int notice) {
  SignalCounts told{.terminate = signals.heard(SIGTERM), .interrupt = signals.heard(SIGINT)};
  if (notice != 0) told.notice = signals.heard(notice);
  if (notice != SIGUSR1) told.saves = signals.heard(SIGUSR1).count;
  return told;
}

}  // namespace

Result<void> check_notices(const NoticeOptions& options) {
  if (options.grace_seconds > kGraceSecondsMax) {
    return Error(ErrorKind::kInvalid, "--grace-seconds must be at most " + std::to_string(kGraceSecondsMax) +
                                          ", found " + std::to_string(options.grace_seconds));
  }
  if (auto signal = notice_signal(options); !signal) return signal.error();
  if (auto ends = find_known_end_notices(options, SystemClock(), {}, false); !ends) return ends.error();
  return {};
}

NoticeWatch::NoticeWatch(const Options& options, const Clock& clock, Timestamp process_began)
    : clock_(clock) {
  const NoticeOptions& notice = options.notice;
  const int number = value_or_throw(notice_signal(notice));
  const bool has_local_runner = options.member.lifeline_fd >= 0;
  Drain::Setup setup{
      .known_ends = value_or_throw(find_known_end_notices(notice, clock, process_began, has_local_runner)),
      .grace = std::chrono::seconds(notice.grace_seconds),
      .job_end = job_end(notice, clock),
      .job_end_ends_run = has_local_runner,
      .can_be_replaced = !options.member.coordinator_url.empty()};
  if (notice.handles_signals) {
    signals_ = std::make_shared<Signals>(number);
    setup.signal_counts = [signals = signals_, number] { return read_signal_counts(*signals, number); };
    setup.reinstall_signals = [signals = signals_] { signals->reinstall_handlers(); };
  }
  drain_ = std::make_shared<Drain>(std::move(setup));
}

std::optional<Failure> NoticeWatch::forbids_joining(const Link* link) const {
  const Timestamp now = clock_.now();
  if (link != nullptr) drain_->receive_order(link->outside_requests(), now);
  return drain_->forbids_joining(now);
}

bool NoticeWatch::can_still_begin_attempt(const Link& link) const {
  return !forbids_joining(&link);
}

void NoticeWatch::leave_if_no_attempt_can_begin(const Link& link) const {
  if (const auto why = forbids_joining(&link)) throw *why;
}

bool NoticeWatch::can_still_begin_attempt() const {
  return !forbids_joining(nullptr);
}

void NoticeWatch::leave_if_no_attempt_can_begin() const {
  if (const auto why = forbids_joining(nullptr)) throw *why;
}

void NoticeWatch::run_interruptible_wait(Link& link, const std::function<void()>& wait) {
  leave_if_no_attempt_can_begin(link);
  const std::jthread watching([this, &link](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      wait_for_signal(stop);
      const auto why = forbids_joining(&link);
      if (why) return link.give_up(why->what());
    }
  });
  try {
    wait();
  } catch (const Failure&) {
    // If link.give_up() ended the wait, throws the Failure with the reason.
    leave_if_no_attempt_can_begin(link);
    throw;
  }
}

Result<void> NoticeWatch::run_final_report(
    const Link& link, const std::function<Result<void>(const std::stop_token&)>& tell) const {
  std::stop_source leaves;
  const std::jthread watching([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && can_still_begin_attempt(link)) wait_for_signal(stop);
    if (pause_for(kFinalAnswerTimeout, stop)) leaves.request_stop();
  });
  return tell(leaves.get_token());
}

void NoticeWatch::wait_for_signal(const std::stop_token& stop) const {
  if (signals_) return signals_->wait(stop, kKnownEndCheckInterval);
  static_cast<void>(pause_for(kKnownEndCheckInterval, stop));
}

}  // namespace ratoon::session
