// TimeAccounts records how this process spends its time, over all its attempts. On rank 0 it also records the
// time of the whole run: the time of earlier processes (from the history), the time without a process, and
// the time of this process.
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

// The newest ledger row of the run, and the attempt that wrote it.
struct LastRecord {
  Attempt attempt{0};
  RunLedger ledger;
};

class TimeAccounts {
 public:
  // `clock` must outlive this object.
  explicit TimeAccounts(const Clock& clock);

  // From this call on, this object counts the run's time, because this process is rank 0. `last` is the
  // newest record that any attempt left. If this process wrote `last` itself, it goes on with its own count.
  void carry_over(const std::optional<LastRecord>& last, Attempt attempt);

  // From now on the training thread's time counts for `phase`. The weights contain `step` steps.
  void enter(ProcessPhase phase, std::uint64_t step);
  // Call wait_for_members() while a world lacks members. Until the next enter(), the time counts as waiting
  // for members.
  void wait_for_members();
  // Call note_hang() if the attempt ends because a rank hung. The time for which this process waited for the
  // hung rank counts as lost.
  void note_hang();
  void leave();

  [[nodiscard]] Account of_process() const;
  // Returns the run's account; nullopt if this process was never rank 0.
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
