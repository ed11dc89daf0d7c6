// Claims: a run's place (a folder or a prefix in a store) belongs to one job at a time, also where file locks
// do not work: on a network volume or in a store.
//
// Claims are numbered files, claims/c0000000012.txt, each created once. The claim with the highest number
// names the owner of the place. To renew or to take over, a process creates the claim with the next number,
// and the file system or the store lets only one process create it. A process that finds the claim of another
// job watches it by its own clock. The process takes over only if the claim was not renewed for a whole
// lease: clocks of different processes are never compared. An unreadable claim, for example after a power
// cut, has an unknown owner and is watched like any other.
//
// Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/tiers/claim_rules.h"
#include "base/core/clock.h"

namespace ratoon::checkpoint {

// The newest claim, and the time at which it was first seen. Keep this value between calls of take(), so that
// the time without a renewal adds up over interrupted calls.
struct SeenClaim {
  std::uint64_t number = 0;
  Timestamp since{};
};

class Claim {
 public:
  using Pause = std::function<bool(Duration)>;  // false: stop waiting, and give up

  // Returns kAlreadyExists if another job, which the message names, uses this place; kCancelled if `pause`
  // returned false; kUnavailable if other jobs' claims change faster than this process can read them.
  [[nodiscard]] static Result<Claim> take(std::shared_ptr<Disk> disk, Owner owner, const ClaimTimes& times,
                                          const Clock& clock, const Pause& pause, SeenClaim& seen);
  // Takes a place for one of many processes of a job, none of which writes yet. Returns nothing if another
  // process of the job holds the newest claim; the other process then keeps it.
  [[nodiscard]] static Result<std::optional<Claim>> enter(std::shared_ptr<Disk> disk, Owner owner,
                                                          const ClaimTimes& times, const Clock& clock,
                                                          const Pause& pause, SeenClaim& seen);

  // Returns kConflict if the place has another owner, because this process did not renew the claim in time,
  // or because a later start of the job replaced it. After a kConflict this process must no longer write.
  // After any other error, renew() may be tried again within the lease.
  [[nodiscard]] Result<void> renew();
  // Gives the run's place back, so that the next owner need not wait.
  [[nodiscard]] Result<void> release();

  [[nodiscard]] std::uint64_t number() const { return number_; }
  // Whether the claim that this one followed was of another job, or unreadable. The other job may have saved
  // checkpoints since this process listed them last.
  [[nodiscard]] bool follows_another_job() const { return follows_another_job_; }

 private:
  Claim(std::shared_ptr<Disk> disk, Owner owner, std::uint64_t number, bool follows_another_job)
      : disk_(std::move(disk)),
        owner_(std::move(owner)),
        number_(number),
        follows_another_job_(follows_another_job) {}
  enum class SameJobClaim { kIsReplaced, kIsEnough };  // how to treat a claim of another process of the job
  [[nodiscard]] static Result<std::optional<Claim>> contend(std::shared_ptr<Disk> disk, Owner owner,
                                                            const ClaimTimes& times, const Clock& clock,
                                                            const Pause& pause, SeenClaim& seen,
                                                            SameJobClaim same_job_claim);
  [[nodiscard]] Result<void> write_next(bool is_released);

  std::shared_ptr<Disk> disk_;
  Owner owner_;
  std::uint64_t number_;
  bool follows_another_job_;
};

// Returns kConflict if another job owns the place. An unreadable claim is no conflict: its owner renews it
// soon, or another job contests it.
[[nodiscard]] Result<void> confirm_claim(const Disk& disk, const Owner& owner);

// Returns the newest claim, or nothing if the place was never claimed.
[[nodiscard]] Result<std::optional<ClaimNote>> newest_claim(const Disk& disk);

// Renews this claim for its owner, another process of the job that may be lost. The owner stays the same; a
// living owner notices nothing. `writer` names this process in temporary files. Returns false if the claim is
// no longer the newest.
[[nodiscard]] Result<bool> keep_alive(Disk& disk, const ClaimNote& claim, std::string_view writer);

// Whether a process that took the place may still remove old checkpoints there: the newest claim is its own,
// or there is no claim, or claims cannot be listed. If claims cannot be listed, the removal fails as well.
[[nodiscard]] bool may_clean_up(const Disk& disk, const Owner& owner);

}  // namespace ratoon::checkpoint
