// OwnershipGuard: the claims of this process on locations that no lock of this machine protects (see
// claim.h), and the thread that renews them. While this process waits for a world, the thread also keeps the
// claims of other processes of the job alive: their owner may be lost.
//
// Thread contract: one thread; lost() from any thread.
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
#include "agent/src/session/telemetry/event_log.h"
#include "base/core/clock.h"

namespace ratoon::session {

class OwnershipGuard {
 public:
  OwnershipGuard(std::vector<std::shared_ptr<checkpoint::Disk>> places, checkpoint::Owner owner,
                 std::shared_ptr<EventLog> events, const checkpoint::ClaimTimes& times = {});
  // The destructor keeps the claims that are held. The next process notices that the claims are not renewed.
  ~OwnershipGuard();
  OwnershipGuard(const OwnershipGuard&) = delete;
  OwnershipGuard& operator=(const OwnershipGuard&) = delete;

  // The function is called by each process of a job before its first attempt, when no process knows its rank
  // yet. The locations then belong to the job: by the claim of another of its processes, or by a claim that
  // this process makes and renews until another process of the job takes it over. A claim that another
  // process of the job made in the meantime stays the claim of that process. Errors and waits are the same as
  // for take().
  [[nodiscard]] Result<void> enter(const Clock& clock, const checkpoint::Claim::Pause& pause);
  // Claims all locations, unless they are held already. Errors are the same as for Claim::take. If another
  // job may be alive, waits for as long as a lease, and reports the wait.
  [[nodiscard]] Result<void> take(const Clock& clock, const checkpoint::Claim::Pause& pause);
  // This process waits for a world until it calls take() or leave_to_others(), and keeps the job's claims
  // alive until then. No owner loses its claim by that.
  void begin_waiting();
  // Hands the claims over to another process of the job, which writes from now on.
  void leave_to_others();
  // Releases the claims, so that the next process need not wait. If releasing fails, the next process only
  // waits longer.
  void release();

  // Whether `place`, one of the claimed locations, still belongs to the job, according to the claim there. A
  // process that was stopped for longer than a lease may not know of its loss yet. kConflict: the location is
  // lost. May be called from any thread.
  [[nodiscard]] Result<void> confirm(const checkpoint::Disk& place);
  // The reason why this process must no longer write.
  [[nodiscard]] std::optional<std::string> lost() const;

 private:
  using TakePlace = std::function<Result<std::optional<checkpoint::Claim>>(std::size_t place)>;
  // Claims all locations, and gives them back if another job has one of them. After any other error the
  // claims that were made stay the job's, and are renewed. Needs claims_mutex_.
  [[nodiscard]] Result<void> claim_all(const TakePlace& take_place);
  // Reports a wait for another job once, before the first pause. Renews the other claims of this process
  // during the wait, which may be longer than a lease.
  [[nodiscard]] checkpoint::Claim::Pause while_watched(std::size_t place, const Clock& clock,
                                                       const checkpoint::Claim::Pause& pause);
  // Reads the claims in the locations, because an attempt without this process may have had another writer.
  // claims_mutex_ is held.
  [[nodiscard]] bool still_holds_all();
  [[nodiscard]] bool is_waiting() const;
  void renew_until(const std::stop_token& stop);
  void renew_or_tell();
  // Both return whether each location answered.
  [[nodiscard]] bool renew_own();
  [[nodiscard]] bool keep_others_alive();
  void tell_trouble(const std::string& why);

  const std::vector<std::shared_ptr<checkpoint::Disk>> places_;
  const checkpoint::Owner owner_;
  const std::shared_ptr<EventLog> events_;
  const checkpoint::ClaimTimes times_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  bool is_held_ = false;            // guarded by mutex_
  bool is_entering_ = false;        // guarded by mutex_: another process of the job may take over at any time
  bool is_waiting_ = false;         // guarded by mutex_
  bool has_begun_to_wait_ = false;  // guarded by mutex_: news for the renewing thread
  std::optional<std::string> lost_;  // guarded by mutex_
  std::mutex claims_mutex_;          // held while a location answers
  // Of this process, one for each location; they count while is_held_. Guarded by claims_mutex_, as is the
  // next.
  std::vector<std::optional<checkpoint::Claim>> claims_;
  std::vector<checkpoint::SeenClaim> seen_;
  // As seen since this wait began. Of the renewing thread.
  std::vector<std::optional<checkpoint::SeenClaim>> watched_;
  bool is_troubled_ = false;  // reported; of the renewing thread
  std::jthread renewing_;     // the last member: it uses the others
};

}  // namespace ratoon::session
