// OwnershipGuard holds the claims of this process on locations that no lock of this machine protects (see
// claim.h), and renews them on a thread. While this process waits for a world, the thread also renews claims
// of other processes of the job, which may be lost.
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
  // The destructor does not release claims. The next process notices that the claims are not renewed.
  ~OwnershipGuard();
  OwnershipGuard(const OwnershipGuard&) = delete;
  OwnershipGuard& operator=(const OwnershipGuard&) = delete;

  // Each process of a job calls enter() before its first attempt, when no process knows its rank yet.
  // After enter() the locations belong to the job: by the claim of another process of the job, or by a
  // claim that this process makes and renews until another process of the job takes it over. A claim
  // that another process of the job made meanwhile stays as it is. Errors and waits are those of
  // take().
  [[nodiscard]] Result<void> enter(const Clock& clock, const checkpoint::Claim::Pause& pause);
  // Claims all locations, unless they are held already. Errors are the same as for Claim::take. If another
  // job may be alive, take() waits for one lease, and reports the wait.
  [[nodiscard]] Result<void> take(const Clock& clock, const checkpoint::Claim::Pause& pause);
  // Returns whether a location was another job's when take() claimed it last: that job may have saved newer
  // checkpoints than those that this process has listed before.
  [[nodiscard]] bool took_from_another_job() const;
  // Call begin_waiting() before a wait for a world. Until take() or leave_to_others(), this process keeps the
  // job's claims alive. No owner loses a claim by this renewal.
  void begin_waiting();
  // Leaves the claims to another process of the job, which writes from now on.
  void leave_to_others();
  // Releases the claims, so that the next process need not wait. If releasing fails, the next process waits
  // for the lease to end.
  void release();

  // Checks in the claim at `place`, a claimed location, that the location still belongs to the job. A process
  // that was suspended for longer than a lease may not know that it lost the location. Returns kConflict if
  // the location is lost. May be called from any thread.
  [[nodiscard]] Result<void> confirm(const checkpoint::Disk& place);
  // Returns why this process must no longer write; nullopt if it may write.
  [[nodiscard]] std::optional<std::string> lost() const;

 private:
  using TakePlace = std::function<Result<std::optional<checkpoint::Claim>>(std::size_t place)>;
  // Claims all locations, and releases them if another job has one of them. After other errors the claims
  // that were made are kept and renewed. Needs claims_mutex_.
  [[nodiscard]] Result<void> claim_all(const TakePlace& take_place);
  // Makes a pause that reports the wait for another job once, and renews the other claims of this process
  // meanwhile, because the wait may be longer than a lease.
  [[nodiscard]] checkpoint::Claim::Pause while_watched(std::size_t place, const Clock& clock,
                                                       const checkpoint::Claim::Pause& pause);
  // Reads the claims in the locations, because an attempt without this process may have had another writer.
  // claims_mutex_ is held.
  [[nodiscard]] bool still_holds_all();
  [[nodiscard]] bool is_waiting() const;
  void renew_until(const std::stop_token& stop);
  void renew_or_tell();
  // renew_own() and keep_others_alive() return whether each location answered.
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
  std::optional<std::string> lost_;     // guarded by mutex_
  bool took_from_another_job_ = false;  // guarded by mutex_
  std::mutex claims_mutex_;             // held while a location answers
  // The claims of this process, one per location, which count while is_held_. claims_mutex_ guards this
  // member and the next.
  std::vector<std::optional<checkpoint::Claim>> claims_;
  std::vector<checkpoint::SeenClaim> seen_;
  // The claims as seen since this wait began. For the renewing thread only.
  std::vector<std::optional<checkpoint::SeenClaim>> watched_;
  bool is_troubled_ = false;  // reported; of the renewing thread
  std::jthread renewing_;     // the last member: it uses the others
};

}  // namespace ratoon::session
