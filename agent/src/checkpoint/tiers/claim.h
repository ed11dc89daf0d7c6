// A run's place belongs to one job at a time, also where no lock reaches: on a network volume, in a store.
//
// Claims are numbered files, claims/c0000000012.txt, each created once: the one with the highest number says
// who owns the place. Every change of hands and every sign of life is the creation of the next number, which
// the file system or the store grants to one alone. An owner renews; who finds another's claim watches it by
// its own clock, and takes over only what showed no sign of life for a whole lease: nobody's clock is
// compared with another's. A claim that cannot be read, as one that a power cut left, is that of an owner
// whose name is not known, and watched like any other.
//
// Thread contract: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/tiers/claim_rules.h"
#include "base/core/clock.h"

namespace ratoon::checkpoint {

// Since when a claim is known to be the newest. Kept from one take() to the next, the silence of attempts
// that were cut short adds up.
struct SeenClaim {
  std::uint64_t number = 0;
  Timestamp since{};
};

class Claim {
 public:
  using Pause = std::function<bool(Duration)>;  // false: stop waiting, and give up

  // kAlreadyExists: another job is at work here; the sentence names it. kCancelled: `pause` said so.
  // kUnavailable: claims of other jobs change faster than this process can look.
  [[nodiscard]] static Result<Claim> take(std::shared_ptr<Disk> disk, Owner owner, const ClaimTimes& times,
                                          const Clock& clock, const Pause& pause, SeenClaim& seen);
  // The same for one of many processes of a job, none of which writes yet: nothing, as soon as the newest
  // claim is held by another process of the job, which need not notice.
  [[nodiscard]] static Result<std::optional<Claim>> enter(std::shared_ptr<Disk> disk, Owner owner,
                                                          const ClaimTimes& times, const Clock& clock,
                                                          const Pause& pause, SeenClaim& seen);

  // kConflict: the place went to another, since this owner was silent for too long or is a start of the job
  // that a later one replaced: it must not write any more. Other errors: try again within the lease.
  [[nodiscard]] Result<void> renew();
  // Whoever comes next need not wait.
  [[nodiscard]] Result<void> release();

  [[nodiscard]] std::uint64_t number() const { return number_; }

 private:
  Claim(std::shared_ptr<Disk> disk, Owner owner, std::uint64_t number)
      : disk_(std::move(disk)), owner_(std::move(owner)), number_(number) {}
  enum class Company { kIsReplaced, kIsEnough };  // a claim that another process of the job holds
  [[nodiscard]] static Result<std::optional<Claim>> contend(std::shared_ptr<Disk> disk, Owner owner,
                                                            const ClaimTimes& times, const Clock& clock,
                                                            const Pause& pause, SeenClaim& seen,
                                                            Company company);
  [[nodiscard]] Result<void> write_next(bool is_released);

  std::shared_ptr<Disk> disk_;
  Owner owner_;
  std::uint64_t number_;
};

// kConflict: the place is another job's. A claim that cannot be read is renewed or contested soon: no
// conflict.
[[nodiscard]] Result<void> confirm_claim(const Disk& disk, const Owner& owner);

// The claim that holds; nothing where nobody ever claimed.
[[nodiscard]] Result<std::optional<ClaimNote>> newest_claim(const Disk& disk);

// Whether a process that took the place may still remove there what is old: the newest claim is its own, or
// cannot be asked for, which the removal would tell as well.
[[nodiscard]] bool may_clean_up(const Disk& disk, const Owner& owner);

}  // namespace ratoon::checkpoint
