#include "agent/src/session/shutdown/drain.h"

#include <algorithm>
#include <utility>

#include "agent/src/session/engine/control_word.h"

namespace ratoon::session {
namespace {

using preemption::DrainStep;
using preemption::Notice;

constexpr std::string_view kOrder = "order";
constexpr std::string_view kCall = "call";
// The deadline of a notice differs slightly each time that a heartbeat repeats the notice. A notice whose
// deadline differs by less than kNearer does not count as new.
constexpr Duration kNearer = std::chrono::seconds(1);
constexpr Duration kCommitPatience = std::chrono::seconds(60);
constexpr Duration kCommitMargin = std::chrono::seconds(10);
constexpr Duration kLeftMax = std::chrono::hours(24 * 365);  // for a deadline that never comes

Failure leaving(ExitCode code, const std::string& sentence) {
  return {static_cast<int>(code), sentence};
}

}  // namespace

Drain::Drain() : Drain(Setup()) {}

Drain::Drain(Setup setup) : setup_(std::move(setup)), notices_(setup_.known_ends) {}

void Drain::notify(Timestamp now, Duration left, const std::string& why) {
  const std::lock_guard lock(mutex_);
  give(kCall, {.deadline = now + std::clamp(left, Duration(0), kLeftMax), .why = why}, now);
}

void Drain::take_back_notice() {
  const std::lock_guard lock(mutex_);
  static_cast<void>(notices_.retract(kCall));
}

void Drain::hear(const OutsideRequests& wanted, Timestamp now) {
  const std::lock_guard lock(mutex_);
  hear_order(wanted, now);
}

void Drain::give(std::string_view source, const Notice& notice, Timestamp heard) {
  const Notice* const first = notices_.first();
  const bool is_news = first == nullptr || notice.deadline < first->deadline - kNearer;
  static_cast<void>(notices_.give(source, notice));
  if (notice.is_sudden && (is_news || sudden_since_ == kNever)) sudden_since_ = heard;
}

void Drain::hear_signals() {
  if (!setup_.signal_counts) return;
  const SignalCounts now = setup_.signal_counts();
  const SignalCounts before = std::exchange(told_, now);
  if (now.terminate.count > 0 && before.terminate.count == 0) {
    const Timestamp came = now.terminate.first;
    give("SIGTERM", {.deadline = came + setup_.grace, .why = "SIGTERM"}, came);
  }
  if (now.notice.count > 0 && before.notice.count == 0) {
    const Timestamp came = now.notice.first;
    give("notice signal",
         {.deadline = setup_.job_end.value_or(came + setup_.grace),
          .why = "the notice of the batch system",
          .ends_run = setup_.job_end && setup_.job_end_ends_run},
         came);
  }
}

void Drain::hear_order(const OutsideRequests& wanted, Timestamp now) {
  if (!wanted.drain_deadline) {
    static_cast<void>(notices_.retract(kOrder));
    return;
  }
  const Timestamp deadline = *wanted.drain_deadline;
  const Notice* const known = notices_.find(kOrder);
  const bool is_known = known != nullptr && deadline >= known->deadline - kNearer;
  give(kOrder,
       {.deadline = deadline,
        .why = "the operator's notice",
        .margin = is_known ? known->margin : preemption::margin_of(deadline - now)},
       now);
}

bool Drain::can_be_replaced() const {
  const Notice* const first = notices_.first();
  return setup_.can_be_replaced && (first == nullptr || !first->ends_run);
}

DrainStep Drain::next(Timestamp now) const {
  const Notice* const first = notices_.first();
  if (first == nullptr) return DrainStep::kTrainOn;
  auto facts = speeds_.facts(first->deadline - now, saved_ >= sudden_since_);
  facts.margin = first->margin;
  return preemption::next_in_drain(facts, can_be_replaced());
}

std::string Drain::why() const {
  const Notice* const first = notices_.first();
  return first != nullptr ? first->why : "a notice that another rank received";
}

std::uint32_t Drain::requests(const OutsideRequests& wanted, Timestamp now) {
  const std::lock_guard lock(mutex_);
  hear_signals();
  hear_order(wanted, now);
  std::uint32_t bits = 0;
  if (is_interrupted()) bits |= control::kStop | control::kInterrupt;
  if (told_.saves > served_saves_) bits |= control::kSave;
  const DrainStep step = next(now);
  if (step == DrainStep::kSave) bits |= control::kSave;
  if (step == DrainStep::kSaveAndLeave) bits |= control::kStop;
  if (step == DrainStep::kLeave && !can_be_replaced()) bits |= control::kGo;
  return bits;
}

std::optional<Failure> Drain::must_exit(Timestamp now, bool agrees) {
  const std::lock_guard lock(mutex_);
  hear_signals();
  if (is_interrupted() && !agrees && now - told_.interrupt.first >= setup_.grace) {
    return leaving(
        ExitCode::kInterruptedByUser,
        "stopped by Ctrl-C without a save: the ranks of this run do not agree once a step, and no save was "
        "due within --grace-seconds; call average_gradients() or agree() in every step, or save "
        "more often");
  }
  // If ranks do not exchange requests in every step, this rank begins no save within the margin before the
  // deadline.
  const Notice* const first = notices_.first();
  const bool is_alone_in_margin = !agrees && first != nullptr && first->deadline - now <= first->margin;
  if (next(now) != DrainStep::kLeave && !is_alone_in_margin) return std::nullopt;
  // Other ranks would wait for this rank without end if it ended alone. This rank therefore waits for half of
  // the margin before the deadline, to end together with the other ranks.
  const bool may_leave_together = agrees && !can_be_replaced();
  if (may_leave_together && *notices_.left(now) > preemption::kMargin / 2) return std::nullopt;
  return leaving(ExitCode::kPreempted,
                 "this process left because of " + why() + ": no other save can end in time");
}

std::string Drain::take_news(Timestamp now) {
  const std::lock_guard lock(mutex_);
  hear_signals();
  const Notice* const first = notices_.first();
  const std::string why = first != nullptr && first->is_sudden ? first->why : "";
  if (why == std::exchange(told_why_, why) || why.empty()) return "";
  const auto left = std::max(Duration(0), first->deadline - now - first->margin) / std::chrono::seconds(1);
  return why + ": Ratoon makes the saves that can end in time, and training continues for " +
         std::to_string(left) + " s at most";
}

Duration Drain::time_to_commit(Timestamp now) {
  const std::lock_guard lock(mutex_);
  const Notice* const first = notices_.first();
  const Duration patience = commit_patience();
  if (first == nullptr) return patience;
  return std::clamp(first->deadline - now - first->margin / 8, Duration(0), patience);
}

Duration Drain::patience_with_commit() {
  const std::lock_guard lock(mutex_);
  return commit_patience();
}

Duration Drain::commit_patience() const {
  return std::max(kCommitPatience, 2 * speeds_.until_durable() + kCommitMargin);
}

bool Drain::leaves_with_next_save() {
  const std::lock_guard lock(mutex_);
  hear_signals();
  return is_interrupted();
}

std::optional<Failure> Drain::forbids_joining(Timestamp now) {
  const std::lock_guard lock(mutex_);
  hear_signals();
  if (is_interrupted())
    return leaving(ExitCode::kInterruptedByUser, "stopped by Ctrl-C, outside of an attempt");
  const Notice* const first = notices_.first();
  const bool is_over = first != nullptr && first->deadline - now <= first->margin;
  if (told_.terminate.count == 0 && !is_over) return std::nullopt;
  return leaving(ExitCode::kPreempted, "this process left because of " + why() + ", outside of an attempt");
}

std::optional<ExitCode> Drain::explains_return(Timestamp now) {
  const std::lock_guard lock(mutex_);
  hear_signals();
  if (is_interrupted()) return ExitCode::kInterruptedByUser;
  if (told_.terminate.count > 0) return ExitCode::kPreempted;
  const Notice* const first = notices_.first();
  if (first == nullptr) return std::nullopt;
  const bool is_told = first->is_sudden || first->deadline - now <= first->margin;
  return is_told ? std::optional(ExitCode::kPreempted) : std::nullopt;
}

Failure Drain::exit_for_drain(std::uint32_t agreed, Step step, bool is_committed) {
  const std::lock_guard lock(mutex_);
  if ((agreed & control::kStop) == 0) {
    return leaving(ExitCode::kPreempted, "this process left because of " + why() + " at step " +
                                             std::to_string(step.value()) +
                                             ", without a save: no save could end in time");
  }
  const std::string place =
      " at step " + std::to_string(step.value()) +
      (is_committed ? ", which is saved"
                    : ", whose checkpoint was not committed in time: the run resumes from an older one");
  if ((agreed & control::kInterrupt) != 0)
    return leaving(ExitCode::kInterruptedByUser, "stopped by Ctrl-C" + place);
  return leaving(ExitCode::kPreempted, "this process left because of " + why() + place);
}

void Drain::note_save(Timestamp began, Duration stall) {
  const std::lock_guard lock(mutex_);
  saved_ = began;
  served_saves_ = told_.saves;
  speeds_.note_save(stall);
}

}  // namespace ratoon::session
