// Ownership: this process's claims on places that no lock of this machine reaches (see claim.h), and the
// thread that renews them.
//
// Thread contract: one thread, but lost() from any.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/tiers/claim.h"
#include "agent/src/session/event_log.h"
#include "base/core/clock.h"

namespace ratoon::session {

class Ownership {
 public:
  Ownership(std::vector<std::shared_ptr<checkpoint::Disk>> places, checkpoint::Owner owner,
            std::shared_ptr<EventLog> events, const checkpoint::ClaimTimes& times = {});
  // Claims that are held stay: whoever comes next finds them silent.
  ~Ownership();
  Ownership(const Ownership&) = delete;
  Ownership& operator=(const Ownership&) = delete;

  // Before the first attempt, of each process of a job, none of which knows its rank yet: the places are the
  // job's, by the claim of another of its processes or, where there is none, by one that this process makes
  // and renews until another of them takes it over. One that another of them made meanwhile stays its own.
  // Errors and waiting: as take().
  [[nodiscard]] Result<void> enter(const Clock& clock, const checkpoint::Claim::Pause& pause);
  // All places, unless they are held; errors are those of Claim::take. Waits for as long as a lease where
  // another job may be alive, and says so.
  [[nodiscard]] Result<void> take(const Clock& clock, const checkpoint::Claim::Pause& pause);
  // The job's writer is another process from now on.
  void leave_to_others();
  // Whoever comes next need not wait. What does not work costs that wait.
  void release();

  // Whether this place, one of them, is still the job's, by what stands there: a process that was stopped for
  // longer than a lease may not know of its loss yet. kConflict: it is lost. From any thread.
  [[nodiscard]] Result<void> confirm(const checkpoint::Disk& place);
  // Why this process must not write any more.
  [[nodiscard]] std::optional<std::string> lost() const;

 private:
  using TakePlace = std::function<Result<std::optional<checkpoint::Claim>>(std::size_t place)>;
  // Of all places or of none. Needs claims_mutex_.
  [[nodiscard]] Result<void> claim_all(const TakePlace& take_place);
  // That one waits for another job is said before the first pause.
  [[nodiscard]] checkpoint::Claim::Pause said_once(std::size_t place,
                                                   const checkpoint::Claim::Pause& pause) const;
  // By what the places say: an attempt that this process was not in may have had another writer.
  // claims_mutex_ is held.
  [[nodiscard]] bool still_holds_all();
  void renew_until(const std::stop_token& stop);
  void renew_or_tell();
  void renew_all();
  void tell_trouble(const std::string& why);

  const std::vector<std::shared_ptr<checkpoint::Disk>> places_;
  const checkpoint::Owner owner_;
  const std::shared_ptr<EventLog> events_;
  const checkpoint::ClaimTimes times_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  bool is_held_ = false;                   // guarded by mutex_
  bool is_entering_ = false;               // guarded by mutex_: another of the job may take over at any time
  std::optional<std::string> lost_;        // guarded by mutex_
  std::mutex claims_mutex_;                // held as long as a place takes to answer
  std::vector<checkpoint::Claim> claims_;  // guarded by claims_mutex_, as is the next
  std::vector<checkpoint::SeenClaim> seen_;
  bool is_troubled_ = false;  // said; of the renewing thread
  std::jthread renewing_;     // the last member: it uses the others
};

}  // namespace ratoon::session
