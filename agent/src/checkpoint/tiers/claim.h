// Claims: a run's place belongs to one job at a time, also where file locks do not work: on
// a network volume or in a store.
//
// Claims are numbered files, claims/c0000000012.txt, each created once. The claim with the highest number
// names the owner of the place. To renew or to take over, a process creates the next number, and the file
// system or the store lets only one process create it. A process that finds the claim of another job watches
// it by its own clock. The process takes over only if the claim was not renewed for a whole lease: clocks of
// different processes are never compared. An unreadable claim, for example after a power cut, has an unknown
// owner and is watched like any other.
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

  // kAlreadyExists: another job uses this place; the message names it. kCancelled: `pause` returned false.
  // kUnavailable: claims of other jobs change faster than this process can read them.
  [[nodiscard]] static Result<Claim> take(std::shared_ptr<Disk> disk, Owner owner, const ClaimTimes& times,
                                          const Clock& clock, const Pause& pause, SeenClaim& seen);
  // Takes a place for one of many processes of a job, none of which writes yet. The value is empty if another
  // process of the job holds the newest claim; in that case the other process keeps the claim.
  [[nodiscard]] static Result<std::optional<Claim>> enter(std::shared_ptr<Disk> disk, Owner owner,
                                                          const ClaimTimes& times, const Clock& clock,
                                                          const Pause& pause, SeenClaim& seen);

  // kConflict: the place has another owner, because this process did not renew the claim in time, or because
  // a later start of the job replaced it. After a kConflict this process must no longer write. After other
  // errors, try again within the lease.
  [[nodiscard]] Result<void> renew();
  // Gives the place back, so that the next owner need not wait.
  [[nodiscard]] Result<void> release();

  [[nodiscard]] std::uint64_t number() const { return number_; }

 private:
  Claim(std::shared_ptr<Disk> disk, Owner owner, std::uint64_t number)
      : disk_(std::move(disk)), owner_(std::move(owner)), number_(number) {}
  enum class SameJobClaim { kIsReplaced, kIsEnough };  // how to treat a claim of another process of the job
  [[nodiscard]] static Result<std::optional<Claim>> contend(std::shared_ptr<Disk> disk, Owner owner,
                                                            const ClaimTimes& times, const Clock& clock,
                                                            const Pause& pause, SeenClaim& seen,
                                                            SameJobClaim same_job_claim);
  [[nodiscard]] Result<void> write_next(bool is_released);

  std::shared_ptr<Disk> disk_;
  Owner owner_;
  std::uint64_t number_;
};

// kConflict: the place is another job's. An unreadable claim is no conflict: its owner renews it
// soon, or another job contests it.
[[nodiscard]] Result<void> confirm_claim(const Disk& disk, const Owner& owner);

// The newest claim. Empty: the place was never claimed.
[[nodiscard]] Result<std::optional<ClaimNote>> newest_claim(const Disk& disk);

// Renews this claim for its owner, another process of the job that may be lost. The owner stays the same: if
// it is alive, it notices nothing. `writer` names this process in temporary files. False: the claim is not
// the newest any longer.
[[nodiscard]] Result<bool> keep_alive(Disk& disk, const ClaimNote& claim, std::string_view writer);

// Whether a process that took the place may still remove old checkpoints there: the newest claim is its own,
// or there is none, or it cannot be listed. If the claim cannot be listed, the removal fails as well.
[[nodiscard]] bool may_clean_up(const Disk& disk, const Owner& owner);

}  // namespace ratoon::checkpoint
