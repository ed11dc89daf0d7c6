// Claims make sure that a run's folder, or its prefix in an object store, belongs to one job at a time.
// Claims also work where file locks do not work, such as on a network volume.
//
// Claims are files with a number, such as claims/c0000000012.txt. Each claim file is created once and never
// changed. The claim with the highest number names the job that owns the folder or store. To renew a claim or
// to take it over, a process creates the claim file with the next number. The file system or store lets only
// one process create a claim file. A process that finds the claim of another job watches it with its own
// clock. The process takes the folder over only if it sees no renewal of the claim for a whole lease. Ratoon
// never compares the clocks of different processes. A claim that cannot be read, for example after a power
// cut, has an unknown owner. A process waits for the end of the lease of such a claim as for any other claim.
//
// Each claim names its term (see claim_rules.h). An attempt remembers the term of the claim under which it
// began, and commits and reports checkpoints only in this term.
//
// Thread contract: only one thread at a time may use a Claim.
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

// The newest claim, its term, and the time at which it was first seen. Pass the same SeenClaim to all calls
// of take(), so that an interrupted call does not lose the time already waited.
struct SeenClaim {
  std::uint64_t number = 0;
  Timestamp since{};
  std::uint64_t term = kUnknownTerm;
};

class Claim {
 public:
  using PauseFunction = std::function<bool(Duration)>;  // false: stop waiting, and give up

  // Returns kAlreadyExists if another job, which the message names, uses this folder or store. Returns
  // kCancelled if `pause` returned false. Returns kUnavailable if claims change faster than this process can
  // read them.
  [[nodiscard]] static Result<Claim> take(std::shared_ptr<Disk> disk, Owner owner, const ClaimTimes& times,
                                          const Clock& clock, const PauseFunction& pause, SeenClaim& seen);
  // Claims a folder or store for one process of a job before any process of the job writes. Returns nothing
  // if another process of the job holds the newest claim. That claim stays, and `seen` has its term.
  [[nodiscard]] static Result<std::optional<Claim>> take_for_job(std::shared_ptr<Disk> disk, Owner owner,
                                                                 const ClaimTimes& times, const Clock& clock,
                                                                 const PauseFunction& pause, SeenClaim& seen);

  // Returns kConflict if another process owns the folder or store now. Either this process did not renew its
  // claim in time, or a later start of the same job took the claim over. After kConflict this process must
  // not write to the folder or store any longer. After an error other than kConflict, the process may call
  // renew() again until the lease ends.
  [[nodiscard]] Result<void> renew();
  // Releases the claim on the run's folder or store, so that the next owner need not wait until the lease
  // ends.
  [[nodiscard]] Result<void> release();

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::uint64_t term() const { return term_; }
  // Returns true if another job made the previous claim, or if that claim is unreadable. Another job may have
  // saved checkpoints since this process listed them last.
  [[nodiscard]] bool follows_another_job() const { return follows_another_job_; }

 private:
  Claim(std::shared_ptr<Disk> disk, Owner owner, std::uint64_t number, std::uint64_t term,
        bool follows_another_job)
      : disk_(std::move(disk)),
        owner_(std::move(owner)),
        number_(number),
        term_(term),
        follows_another_job_(follows_another_job) {}
  enum class SameJobClaim { kIsReplaced, kIsEnough };  // how to treat a claim of another process of the job
  [[nodiscard]] static Result<std::optional<Claim>> compete_for_claim(
      std::shared_ptr<Disk> disk, Owner owner, const ClaimTimes& times, const Clock& clock,
      const PauseFunction& pause, SeenClaim& seen, SameJobClaim same_job_claim);
  [[nodiscard]] Result<void> write_next(bool is_released);

  std::shared_ptr<Disk> disk_;
  Owner owner_;
  std::uint64_t number_;
  std::uint64_t term_;
  bool follows_another_job_;
};

// Returns kConflict if there is no claim, or if the newest claim is of another job. Also returns kConflict if
// the newest claim is of the job of `owner` but not of the term `term`, because another job has owned the
// folder or store since that term. An unreadable claim is no conflict yet: soon its owner or another job
// creates a readable claim.
[[nodiscard]] Result<void> confirm_claim(const Disk& disk, const Owner& owner, std::uint64_t term);

// Returns the newest claim, or nothing if this folder or store was never claimed.
[[nodiscard]] Result<std::optional<ClaimRecord>> newest_claim(const Disk& disk);

// Renews the claim on behalf of its owner, another process of the same job that may have died. The owner of
// the claim stays the same, and may renew the claim as usual if it is alive. `writer` is a text, unique to
// this process, in the names of its temporary files. Returns false if the claim is no longer the newest.
[[nodiscard]] Result<bool> renew_for_owner(Disk& disk, const ClaimRecord& claim, std::string_view writer);

// Returns true if `owner` may still remove old checkpoints: either `owner` holds the newest claim and this
// claim has the term `term`, or there is no claim. may_clean_up() also returns true if claims cannot be
// listed, because the removal then fails as well.
[[nodiscard]] bool may_clean_up(const Disk& disk, const Owner& owner, std::uint64_t term);

}  // namespace ratoon::checkpoint
