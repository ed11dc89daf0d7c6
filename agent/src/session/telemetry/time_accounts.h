// TimeAccounts: where the time of this process goes, over all of its attempts. On rank 0 it also has that of
// the whole run: what earlier processes left in the history, the time while there was none, and the time
// since.
//
//   TimeAccounts accounts(clock);                  // when the process begins
//   accounts.carry_over(last_row, Attempt(7));  // rank 0, when an attempt begins
//   accounts.enter(ProcessPhase::kCompute, step);
//   accounts.leave();                          // the attempt is over
//
// Thread contract: any thread; one lock, which is held for no longer than a few additions.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "agent/src/session/telemetry/ledger.h"
#include "agent/src/session/telemetry/run_ledger.h"
#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::session {

// The last record of a run that a process wrote, and in which attempt.
struct LastRecord {
  Attempt attempt{0};
  RunLedger ledger;
};

class TimeAccounts {
 public:
  // `clock` must outlive this object.
  explicit TimeAccounts(const Clock& clock);

  // From now on the run's time is counted here: rank 0 is this process. `last` is the newest record that any
  // attempt left. If this process wrote it, the count just continues.
  void carry_over(const std::optional<LastRecord>& last, Attempt attempt);

  // The training thread's time counts for this phase from now on, with `step` steps in the weights.
  void enter(ProcessPhase phase, std::uint64_t step);
  // Called while a world is missing members. That time ends with enter().
  void wait_for_members();
  // The attempt ends because a rank hung: the time in which this process waited for it counts as lost.
  void note_hang();
  void leave();

  [[nodiscard]] Account of_process() const;
  // nullopt if this process was never rank 0.
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
  std::optional<Attempt> led_;  // the newest attempt in which this process was rank 0
  Account before_;              // of the run, when counting began here
  Account then_;                // of this process, at the same moment
};

}  // namespace ratoon::session
