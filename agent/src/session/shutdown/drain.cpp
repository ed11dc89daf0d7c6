#include "agent/src/session/shutdown/drain.h"

#include <algorithm>
#include <utility>

#include "agent/src/session/engine/control_word.h"

namespace ratoon::session {
namespace {

using preemption::DrainStep;
using preemption::Notice;

constexpr std::string_view kOrderNoticeSource = "order";
constexpr std::string_view kCallNoticeSource = "call";
// The deadline of a notice differs slightly each time that a heartbeat repeats the notice. A notice whose
// deadline differs from the known one by less than kDeadlineTolerance does not count as new.
constexpr Duration kDeadlineTolerance = std::chrono::seconds(1);
constexpr Duration kCommitTimeoutMin = std::chrono::seconds(60);
constexpr Duration kCommitMargin = std::chrono::seconds(10);
constexpr Duration kTimeLeftMax = std::chrono::hours(24 * 365);  // for a deadline that never comes

Failure drain_failure(ExitCode code, const std::string& sentence) {
  return {static_cast<int>(code), sentence};
}

}  // namespace

Drain::Drain() : Drain(Setup()) {}

Drain::Drain(Setup setup) : setup_(std::move(setup)), notices_(setup_.known_ends) {}

void Drain::notify(Timestamp now, Duration left, const std::string& why) {
  const MutexLock lock(mutex_);
  add_notice(kCallNoticeSource, {.deadline = now + std::clamp(left, Duration(0), kTimeLeftMax), .why = why},
             now);
}

void Drain::take_back_notice() {
  const MutexLock lock(mutex_);
  static_cast<void>(notices_.withdraw(kCallNoticeSource));
}

void Drain::receive_order(const CoordinatorRequests& wanted, Timestamp now) {
  const MutexLock lock(mutex_);
  apply_order(wanted, now);
}

void Drain::add_notice(std::string_view source, const Notice& notice, Timestamp heard) {
  const Notice* const first = notices_.first();
  const bool is_news = first == nullptr || notice.deadline < first->deadline - kDeadlineTolerance;
  static_cast<void>(notices_.set_notice(source, notice));
  if (notice.is_sudden && (is_news || newest_sudden_notice_at_ == kUnsetTime))
    newest_sudden_notice_at_ = heard;
}

void Drain::take_signals() {
  if (!setup_.signal_counts) return;
  const SignalCounts now = setup_.signal_counts();
  const SignalCounts before = std::exchange(counted_signals_, now);
  if (now.terminate.count > 0 && before.terminate.count == 0) {
    const Timestamp came = now.terminate.first;
    add_notice("SIGTERM", {.deadline = came + setup_.grace, .why = "SIGTERM"}, came);
  }
  if (now.notice.count > 0 && before.notice.count == 0) {
    const Timestamp came = now.notice.first;
    add_notice("notice signal",
               {.deadline = setup_.job_end.value_or(came + setup_.grace),
                .why = "the notice of the batch system",
                .ends_run = setup_.job_end && setup_.job_end_ends_run},
               came);
  }
}

void Drain::apply_order(const CoordinatorRequests& wanted, Timestamp now) {
  if (!wanted.drain_deadline) {
    static_cast<void>(notices_.withdraw(kOrderNoticeSource));
    return;
  }
  const Timestamp deadline = *wanted.drain_deadline;
  const Notice* const known = notices_.find(kOrderNoticeSource);
  const bool is_known = known != nullptr && deadline >= known->deadline - kDeadlineTolerance;
  add_notice(kOrderNoticeSource,
             {.deadline = deadline,
              .why = "the operator's notice",
              .margin = is_known ? known->margin : preemption::margin_of(deadline - now)},
             now);
}

bool Drain::can_be_replaced() const {
  const Notice* const first = notices_.first();
  return setup_.can_be_replaced && (first == nullptr || !first->ends_run);
}

DrainStep Drain::next_drain_step(Timestamp now) const {
  const Notice* const first = notices_.first();
  if (first == nullptr) return DrainStep::kTrainOn;
  auto facts = save_speeds_.facts(first->deadline - now, last_save_began_ >= newest_sudden_notice_at_);
  facts.margin = first->margin;
  return preemption::decide_drain_step(facts, can_be_replaced());
}

std::string Drain::notice_reason() const {
  const Notice* const first = notices_.first();
  return first != nullptr ? first->why : "a notice that another rank received";
}

std::uint32_t Drain::requests(const CoordinatorRequests& wanted, Timestamp now) {
  const MutexLock lock(mutex_);
  take_signals();
  apply_order(wanted, now);
  std::uint32_t bits = 0;
  if (is_interrupted()) bits |= control::kStop | control::kInterrupt;
  if (counted_signals_.saves > served_save_signals_) bits |= control::kSave;
  const DrainStep step = next_drain_step(now);
  if (step == DrainStep::kSave) bits |= control::kSave;
  if (step == DrainStep::kSaveAndLeave) bits |= control::kStop;
  if (step == DrainStep::kLeave && !can_be_replaced()) bits |= control::kStopWithoutSave;
  return bits;
}

std::optional<Failure> Drain::find_exit_failure(Timestamp now, bool agrees) {
  const MutexLock lock(mutex_);
  take_signals();
  if (is_interrupted() && !agrees && now - counted_signals_.interrupt.first >= setup_.grace) {
    return drain_failure(
        ExitCode::kInterruptedByUser,
        "stopped by Ctrl-C without a save: the ranks do not agree on requests in each step, and no save was "
        "due within --grace-seconds; call average_gradients() or agree() in every step, or save "
        "more often");
  }
  // If ranks do not exchange requests in every step, this rank begins no save within the margin before the
  // deadline.
  const Notice* const first = notices_.first();
  const bool is_alone_in_margin = !agrees && first != nullptr && first->deadline - now <= first->margin;
  if (next_drain_step(now) != DrainStep::kLeave && !is_alone_in_margin) return std::nullopt;
  // Other ranks would wait for this rank without end if it ended alone. For the first half of the margin
  // before the deadline, this rank waits for the step at which all ranks end together.
  const bool may_leave_together = agrees && !can_be_replaced();
  if (may_leave_together && *notices_.left(now) > preemption::kDeadlineMargin / 2) return std::nullopt;
  return drain_failure(ExitCode::kPreempted,
                       "this process left because of " + notice_reason() + ": no other save can end in time");
}

std::string Drain::take_notice_message(Timestamp now) {
  const MutexLock lock(mutex_);
  take_signals();
  const Notice* const first = notices_.first();
  const std::string why = first != nullptr && first->is_sudden ? first->why : "";
  if (why == std::exchange(announced_reason_, why) || why.empty()) return "";
  const auto left = std::max(Duration(0), first->deadline - now - first->margin) / std::chrono::seconds(1);
  return why + ": Ratoon makes the saves that can end in time, and training continues for " +
         std::to_string(left) + " s at most";
}

Duration Drain::remaining_commit_time(Timestamp now) {
  const MutexLock lock(mutex_);
  const Notice* const first = notices_.first();
  const Duration patience = compute_commit_timeout();
  if (first == nullptr) return patience;
  return std::clamp(first->deadline - now - first->margin / 8, Duration(0), patience);
}

std::optional<Duration> Drain::remaining_time(Timestamp now) {
  const MutexLock lock(mutex_);
  const Notice* const first = notices_.first();
  if (first == nullptr) return std::nullopt;
  return std::max(first->deadline - now - first->margin / 8, Duration(0));
}

Duration Drain::commit_timeout() {
  const MutexLock lock(mutex_);
  return compute_commit_timeout();
}

Duration Drain::compute_commit_timeout() const {
  return std::max(kCommitTimeoutMin, 2 * save_speeds_.expected_time_until_durable() + kCommitMargin);
}

bool Drain::leaves_with_next_save() {
  const MutexLock lock(mutex_);
  take_signals();
  return is_interrupted();
}

std::optional<Failure> Drain::forbids_joining(Timestamp now) {
  const MutexLock lock(mutex_);
  take_signals();
  if (is_interrupted())
    return drain_failure(ExitCode::kInterruptedByUser, "stopped by Ctrl-C, outside of an attempt");
  const Notice* const first = notices_.first();
  const bool is_over = first != nullptr && first->deadline - now <= first->margin;
  if (counted_signals_.terminate.count == 0 && !is_over) return std::nullopt;
  return drain_failure(ExitCode::kPreempted,
                       "this process left because of " + notice_reason() + ", outside of an attempt");
}

std::optional<ExitCode> Drain::find_exit_code_of_return(Timestamp now) {
  const MutexLock lock(mutex_);
  take_signals();
  if (is_interrupted()) return ExitCode::kInterruptedByUser;
  if (counted_signals_.terminate.count > 0) return ExitCode::kPreempted;
  const Notice* const first = notices_.first();
  if (first == nullptr) return std::nullopt;
  const bool is_told = first->is_sudden || first->deadline - now <= first->margin;
  return is_told ? std::optional(ExitCode::kPreempted) : std::nullopt;
}

Failure Drain::exit_for_drain(std::uint32_t agreed, Step step, bool is_committed) {
  const MutexLock lock(mutex_);
  if ((agreed & control::kStop) == 0) {
    return drain_failure(ExitCode::kPreempted, "this process left because of " + notice_reason() +
                                                   " at step " + std::to_string(step.value()) +
                                                   ", without a save: no save could end in time");
  }
  const std::string place =
      " at step " + std::to_string(step.value()) +
      (is_committed ? ", which is saved"
                    : ", whose checkpoint was not committed in time: the run resumes from an older one");
  if ((agreed & control::kInterrupt) != 0)
    return drain_failure(ExitCode::kInterruptedByUser, "stopped by Ctrl-C" + place);
  return drain_failure(ExitCode::kPreempted, "this process left because of " + notice_reason() + place);
}

void Drain::note_save(Timestamp began, Duration stall) {
  const MutexLock lock(mutex_);
  last_save_began_ = began;
  served_save_signals_ = counted_signals_.saves;
  save_speeds_.note_save(stall);
}

}  // namespace ratoon::session
