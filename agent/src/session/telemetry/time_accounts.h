// TimeAccounts: records on what this process spends its time, over all its attempts. On rank 0, a
// TimeAccounts object also records the time of the whole run, including earlier processes (from the history)
// and times without a process.
//
//   TimeAccounts accounts(clock);                  // when the process begins
//   accounts.continue_run_account(last_row, Attempt(7));  // rank 0, when an attempt begins
//   accounts.enter(ProcessPhase::kCompute, step);
//   accounts.leave();                          // the attempt is over
//
// Thread contract: any thread may call any function. Each function holds the lock only briefly.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/src/session/telemetry/ledger.h"
#include "agent/src/session/telemetry/run_ledger.h"
#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "base/core/threads/mutex.h"

namespace ratoon::session {

// LastRecord: the newest ledger row of the run, and the attempt that wrote this row.
struct LastRecord {
  Attempt attempt{0};
  RunLedger ledger;
};

class TimeAccounts {
 public:
  // `clock` must outlive this object.
  explicit TimeAccounts(const Clock& clock);

  // Begins to count the time of the whole run, because this process is now rank 0. `last` is the newest
  // ledger row of any attempt. If this process itself wrote `last`, this process continues its own count.
  void continue_run_account(const std::optional<LastRecord>& last, Attempt attempt);

  // From the call of enter() on, time counts for `phase`. `step` is the number of completed steps.
  void enter(ProcessPhase phase, std::uint64_t step);
  // Records that too few processes are ready for the next attempt. Until the next enter(), time counts as
  // waiting for capacity (kWaitingForCapacity).
  void note_waiting_for_members();
  // Records that the attempt ends because a rank hung. The time for which this process waited for the hung
  // rank counts as lost (kHung).
  void note_hang();
  void leave();

  [[nodiscard]] Account process_account() const;
  // Returns the ledger of the whole run; nullopt if this process was never rank 0.
  [[nodiscard]] std::optional<RunLedger> run_ledger() const;

 private:
  [[nodiscard]] Part part_of(ProcessPhase phase, std::uint64_t step) const RATOON_REQUIRES(mutex_);
  void end_phase(ProcessPhase next) RATOON_REQUIRES(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  Ledger ledger_ RATOON_GUARDED_BY(mutex_);  // of this process
  ProcessPhase phase_ RATOON_GUARDED_BY(mutex_) = ProcessPhase::kJoining;
  std::uint64_t step_ RATOON_GUARDED_BY(mutex_) = 0;
  std::uint64_t newest_step_ RATOON_GUARDED_BY(mutex_) = 0;
  std::optional<std::uint64_t> newest_validated_step_ RATOON_GUARDED_BY(mutex_);
  // The newest attempt in which this process was rank 0.
  std::optional<Attempt> newest_attempt_as_rank_0_ RATOON_GUARDED_BY(mutex_);
  Account run_account_at_start_ RATOON_GUARDED_BY(mutex_);  // of the run, when counting began here
  Account own_account_at_start_ RATOON_GUARDED_BY(mutex_);  // of this process, at the same moment
};

}  // namespace ratoon::session
