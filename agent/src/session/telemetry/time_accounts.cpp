#include "agent/src/session/telemetry/time_accounts.h"

#include <algorithm>

namespace ratoon::session {

TimeAccounts::TimeAccounts(const Clock& clock) : clock_(clock), ledger_(clock.now()) {}

void TimeAccounts::continue_run_account(const std::optional<LastRecord>& last, Attempt attempt) {
  const MutexLock lock(mutex_);
  const bool is_own = newest_attempt_as_rank_0_ && (!last || last->attempt == *newest_attempt_as_rank_0_);
  newest_attempt_as_rank_0_ = attempt;
  if (is_own) return;
  if (!last) return;  // the run began with this process: all of its time is the run's
  const Duration away = downtime(last->ledger.at, clock_.wall_now());
  run_account_at_start_ = last->ledger.account.plus(Part::kRestarting, away);
  own_account_at_start_ = ledger_.account(clock_.now());
  newest_step_ = std::max(newest_step_, last->ledger.newest_step);
  newest_validated_step_ = std::max(newest_validated_step_, last->ledger.newest_validated_step);
}

Part TimeAccounts::part_of(ProcessPhase phase, std::uint64_t step) const {
  switch (phase) {
    case ProcessPhase::kJoining:
    case ProcessPhase::kLoad:
      return Part::kRestarting;
    case ProcessPhase::kData:
      return Part::kDataWait;
    case ProcessPhase::kSave:
      return Part::kSaveStall;
    case ProcessPhase::kValidate:
      return part_of_validation(step, newest_validated_step_);
    case ProcessPhase::kCompute:
    case ProcessPhase::kCollective:
    case ProcessPhase::kUser:
      break;
  }
  return part_of_step(step, newest_step_);
}

// Ends the current phase. An interrupted validation does not count as made, so a later repetition of it does
// not count as recomputed. A wait for samples or for other ranks within a validation does not end the
// validation.
void TimeAccounts::end_phase(ProcessPhase next) {
  const bool goes_on =
      next == ProcessPhase::kValidate || next == ProcessPhase::kData || next == ProcessPhase::kCollective;
  if (phase_ == ProcessPhase::kValidate && !goes_on && next != ProcessPhase::kJoining)
    newest_validated_step_ = std::max(newest_validated_step_.value_or(0), step_);
  phase_ = next;
}

void TimeAccounts::enter(ProcessPhase phase, std::uint64_t step) {
  const MutexLock lock(mutex_);
  end_phase(phase);
  step_ = step;
  ledger_.enter(part_of(phase, step), clock_.now());
  newest_step_ = std::max(newest_step_, step);
}

void TimeAccounts::note_waiting_for_members() {
  const MutexLock lock(mutex_);
  ledger_.enter(Part::kWaitingForCapacity, clock_.now());
}

void TimeAccounts::note_hang() {
  const MutexLock lock(mutex_);
  if (phase_ == ProcessPhase::kCollective) ledger_.reclassify(Part::kHung, {}, clock_.now());
}

void TimeAccounts::leave() {
  const MutexLock lock(mutex_);
  end_phase(ProcessPhase::kJoining);
  ledger_.enter(Part::kRestarting, clock_.now());
}

Account TimeAccounts::process_account() const {
  const MutexLock lock(mutex_);
  return ledger_.account(clock_.now());
}

std::optional<RunLedger> TimeAccounts::run_ledger() const {
  const MutexLock lock(mutex_);
  if (!newest_attempt_as_rank_0_) return std::nullopt;
  const Account now = ledger_.account(clock_.now());
  RunLedger run{.account = run_account_at_start_,
                .at = clock_.wall_now(),
                .step = step_,
                .newest_step = newest_step_,
                .newest_validated_step = newest_validated_step_};
  for (std::size_t i = 0; i < kParts; ++i) {
    const Part part = static_cast<Part>(i);
    run.account = run.account.plus(part, now.of(part) - own_account_at_start_.of(part));
  }
  return run;
}

}  // namespace ratoon::session
