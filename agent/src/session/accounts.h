// Accounts: where the time of this process goes, over all of its attempts, and, on rank 0, that of the whole
// run: what earlier processes left in the history, the time while there was none, and what came since.
//
//   Accounts accounts(clock);                  // when the process begins
//   accounts.carry_over(last_row, Attempt(7)); // rank 0, when an attempt does
//   accounts.enter(ProcessPhase::kCompute, step);
//   accounts.leave();                          // the attempt is over
//
// Thread contract: any; one lock, which nobody holds for longer than a few additions.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "agent/src/session/ledger.h"
#include "agent/src/session/run_ledger.h"
#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::session {

// What a process wrote last of a run, and in which attempt.
struct LastWord {
  Attempt attempt{0};
  RunLedger ledger;
};

class Accounts {
 public:
  // The clock outlives it.
  explicit Accounts(const Clock& clock);

  // From now on the run's time is counted here: rank 0 is this process. `last` is the newest word that any
  // attempt left; where it is this process's own, it just goes on.
  void carry_over(const std::optional<LastWord>& last, Attempt attempt);

  // The training thread's time is of this phase from now on, with so many steps in the weights.
  void enter(ProcessPhase phase, std::uint64_t step);
  // A world is missing members; until enter().
  void wait_for_members();
  // The attempt ends because a rank hung: who waited for it has lost that time.
  void note_hang();
  void leave();

  [[nodiscard]] Account of_process() const;
  // Nothing, where this process was never rank 0.
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
