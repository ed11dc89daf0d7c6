// OwnershipGuard: holds this process's claims (claim.h), by which a job owns folders and stores that no lock
// protects, and renews the claims on a thread. While this process waits for other ranks, the thread also
// renews claims of lost processes of the job.
//
// Thread contract: only one thread uses the object, but any thread may call find_lost_reason() and confirm().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/checkpoint/tiers/claim.h"
#include "agent/src/session/telemetry/event_log.h"
#include "base/core/clock.h"
#include "base/core/threads/condition_variable.h"

namespace ratoon::session {

class OwnershipGuard {
 public:
  OwnershipGuard(std::vector<std::shared_ptr<checkpoint::Disk>> places, checkpoint::Owner owner,
                 std::shared_ptr<EventLog> events, const checkpoint::ClaimTimes& times = {});
  // The destructor does not release the claims. If the process ends, the next process notices that the claims
  // are no longer renewed.
  ~OwnershipGuard();
  OwnershipGuard(const OwnershipGuard&) = delete;
  OwnershipGuard& operator=(const OwnershipGuard&) = delete;

  // Each process of a job calls enter() before its first attempt, when its rank is not decided yet. After
  // enter(), the locations belong to the job. If no other process of the job has claimed a location, this
  // process claims it, and renews the claim until another process of the job takes over. enter() does not
  // change the claim of another process of the job. It waits like take(), and returns the same errors.
  [[nodiscard]] Result<void> enter(const Clock& clock, const checkpoint::Claim::PauseFunction& pause);
  // Claims all locations, unless this process already has the claims. Returns the same errors as
  // Claim::take(). If another job that may still run has a claim, take() waits for one lease, and prints that
  // it waits.
  [[nodiscard]] Result<void> take(const Clock& clock, const checkpoint::Claim::PauseFunction& pause);
  // Returns whether a location belonged to another job before take() claimed it, or at any time since enter()
  // or the previous attempt. The other job may have saved newer checkpoints than this process has listed.
  [[nodiscard]] bool took_from_another_job() const;
  // Records that this process begins to wait for other ranks. After begin_waiting(), this process keeps the
  // claims of its job alive, until take() or leave_claims_to_others(). Keeping claims alive does not change
  // their owners.
  void begin_waiting();
  // Leaves the claims to another process of the job, which writes from now on. Reads the claims' terms.
  // Returns an error if a location does not answer and this process does not know the term of its claim.
  [[nodiscard]] Result<void> leave_claims_to_others();
  // Releases the claims, so that the next process need not wait. If releasing fails, the next process waits
  // for the lease to end.
  void release();

  // Returns the term of the job's claim at `place` as of the last enter(), take() or
  // leave_claims_to_others(). An attempt that begins now has this term. Any thread may call term_at().
  [[nodiscard]] std::uint64_t term_at(const checkpoint::Disk& place) const;
  // Reads the claim at `place`, a claimed location, and checks that the job has owned the location since the
  // attempt that began in the term `term`. A process that was suspended for longer than a lease may not know
  // that it lost the location. Returns kConflict if another job owns the location now, or owned it after the
  // attempt's beginning. Any thread may call confirm().
  [[nodiscard]] Result<void> confirm(const checkpoint::Disk& place, std::uint64_t term);
  // Confirms with confirm() that the job has owned all claimed locations since the newest attempt began.
  [[nodiscard]] Result<void> confirm_all_locations();
  // Returns why this process must no longer write; nullopt if it may write.
  [[nodiscard]] std::optional<std::string> find_lost_reason() const;

 private:
  using TakeClaim = std::function<Result<std::optional<checkpoint::Claim>>(std::size_t place)>;
  // Claims all locations. If another job owns one location, claim_all() releases the claims on the others.
  // After any error but kConflict, the claims made so far are kept and renewed.
  [[nodiscard]] Result<void> claim_all(const TakeClaim& take_place) RATOON_REQUIRES(claims_mutex_);
  // Returns the function that take() calls between two checks of another job's claim. The returned function
  // reports the wait once, and renews this process's other claims, because the wait may exceed a lease.
  [[nodiscard]] checkpoint::Claim::PauseFunction make_reporting_pause(
      std::size_t place, const Clock& clock, const checkpoint::Claim::PauseFunction& pause);
  // Reads the claims, and returns whether this process still owns all. Another process may have taken one.
  [[nodiscard]] bool still_holds_all() RATOON_REQUIRES(claims_mutex_);
  [[nodiscard]] bool is_waiting() const;
  [[nodiscard]] std::optional<std::size_t> index_of(const checkpoint::Disk& place) const;
  void renew_until(const std::stop_token& stop);
  void renew_claims_or_report();
  // renew_own_claims() and renew_claims_of_others() return true if all locations answered.
  [[nodiscard]] bool renew_own_claims();
  [[nodiscard]] bool renew_claims_of_others();
  void report_error_once(const std::string& why);

  const std::vector<std::shared_ptr<checkpoint::Disk>> locations_;
  const checkpoint::Owner owner_;
  const std::shared_ptr<EventLog> events_;
  const checkpoint::ClaimTimes claim_times_;
  mutable Mutex mutex_;
  StoppableConditionVariable wait_changed_;
  bool holds_claims_ RATOON_GUARDED_BY(mutex_) = false;
  // Whether another process of the job may take over at any time.
  bool may_be_taken_over_ RATOON_GUARDED_BY(mutex_) = false;
  bool is_waiting_ RATOON_GUARDED_BY(mutex_) = false;
  bool has_new_wait_ RATOON_GUARDED_BY(mutex_) = false;  // news for the renewing thread
  std::optional<std::string> lost_reason_ RATOON_GUARDED_BY(mutex_);
  bool took_from_another_job_ RATOON_GUARDED_BY(mutex_) = false;
  std::vector<std::uint64_t> terms_ RATOON_GUARDED_BY(mutex_);  // one per location
  Mutex claims_mutex_;                                          // held while a location answers
  // The claims of this process, one per location, valid if holds_claims_ is true.
  std::vector<std::optional<checkpoint::Claim>> claims_ RATOON_GUARDED_BY(claims_mutex_);
  std::vector<checkpoint::SeenClaim> last_seen_claims_ RATOON_GUARDED_BY(claims_mutex_);
  // watched_claims_ has the claims of each location that were last observed in the current wait for other
  // ranks. Only the renewing thread uses watched_claims_.
  std::vector<std::optional<checkpoint::SeenClaim>> watched_claims_;
  bool has_reported_error_ = false;  // only the renewing thread uses it
  std::jthread renewal_thread_;      // the last member: it uses the others
};

// Returns a function that returns term_at() as long as the guard exists, and kUnknownTerm afterwards.
[[nodiscard]] std::function<std::uint64_t(const checkpoint::Disk&)> term_reader(
    const std::shared_ptr<OwnershipGuard>& guard);

}  // namespace ratoon::session
