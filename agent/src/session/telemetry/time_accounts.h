// TimeAccounts: records on what this process spends its time, over all its attempts. On rank 0, a
// TimeAccounts object also records the time of the whole run, including earlier processes (from the history)
// and times without a process.
//
//   TimeAccounts accounts(clock);                  // when the process begins
//   accounts.carry_over(last_row, Attempt(7));  // rank 0, when an attempt begins
//   accounts.enter(ProcessPhase::kCompute, step);
//   accounts.leave();                          // the attempt is over
//
// Thread contract: any thread may call any function. Each function holds the lock only briefly.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "agent/src/session/telemetry/ledger.h"
#include "agent/src/session/telemetry/run_ledger.h"
#include "base/contract/messages.h"
#include "base/core/clock.h"

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
  void carry_over(const std::optional<LastRecord>& last, Attempt attempt);

  // From the call of enter() on, time counts for `phase`. `step` is the number of completed steps.
  void enter(ProcessPhase phase, std::uint64_t step);
  // Records that too few processes are ready for the next attempt. Until the next enter(), time counts as
  // waiting for capacity (kWaitingForCapacity).
  void wait_for_members();
  // Records that the attempt ends because a rank hung. The time for which this process waited for the hung
  // rank counts as lost (kHung).
  void note_hang();
  void leave();

  [[nodiscard]] Account of_process() const;
  // Returns the ledger of the whole run; nullopt if this process was never rank 0.
  [[nodiscard]] std::optional<RunLedger> of_run() const;

 private:
  [[nodiscard]] Part part_of(ProcessPhase phase, std::uint64_t step) const;
  void end_phase(ProcessPhase next);

  const Clock& clock_;
  mutable std::mutex mutex_;  // guards what follows
  Ledger ledger_;             // of this process
  ProcessPhase phase_ = ProcessPhase::kJoining;
  std::uint64_t step_ = 0;
  std::uint64_t newest_step_ = 0;
  std::optional<std::uint64_t> newest_validated_;
  std::optional<Attempt> newest_attempt_as_rank_0_;  // the newest attempt in which this process was rank 0
  Account run_account_at_start_;                     // of the run, when counting began here
  Account own_account_at_start_;                     // of this process, at the same moment
};

}  // namespace ratoon::session
