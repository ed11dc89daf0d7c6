// A run's place belongs to one job at a time, also where no lock reaches: on a network volume, in a store.
//
// Claims are numbered files, claims/c0000000012.txt, each created once: the one with the highest number says
// who owns the place. Every change of hands and every sign of life is the creation of the next number, which
// the file system or the store grants to one alone. An owner renews; who finds another's claim watches it by
// its own clock, and takes over only what showed no sign of life for a whole lease: nobody's clock is
// compared with another's.
//
// Thread contract: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "base/core/clock.h"

namespace ratoon::checkpoint {

struct Owner {
  std::string job;    // who trains, over all its restarts: "team-a/digits of 6f1c..."; printable ASCII
  std::string start;  // this start of it, drawn anew each time

  friend bool operator==(const Owner&, const Owner&) = default;
};

struct ClaimNote {
  std::uint64_t number = 0;
  Owner owner{};
  bool is_released = false;

  friend bool operator==(const ClaimNote&, const ClaimNote&) = default;
};

enum class ClaimVerdict { kTake, kWatch, kRefuse };
// Pure. `first` is what a newcomer found at first, `now` what it finds after watching for `watched`: another
// job that is alive keeps its place, the same job's earlier start never stands in the way of the next.
[[nodiscard]] ClaimVerdict judge_claim(const Owner& newcomer, const std::optional<ClaimNote>& first,
                                       const std::optional<ClaimNote>& now, Duration watched, Duration lease);

struct ClaimTimes {
  Duration lease{std::chrono::seconds(30)};  // renewed at least three times within
  Duration look{std::chrono::seconds(1)};    // while watching
};

class Claim {
 public:
  using Pause = std::function<bool(Duration)>;  // false: stop waiting, and give up

  // kAlreadyExists: another job is at work here; the sentence names it. kCancelled: `pause` said so.
  [[nodiscard]] static Result<Claim> take(std::shared_ptr<Disk> disk, Owner owner, const ClaimTimes& times,
                                          const Clock& clock, const Pause& pause);

  // kConflict: the place went to another, since this owner was silent for too long or is a start of the job
  // that a later one replaced: it must not write any more. Other errors: try again within the lease.
  [[nodiscard]] Result<void> renew();
  // Whoever comes next need not wait.
  [[nodiscard]] Result<void> release();

  [[nodiscard]] std::uint64_t number() const { return number_; }

 private:
  Claim(std::shared_ptr<Disk> disk, Owner owner, std::uint64_t number)
      : disk_(std::move(disk)), owner_(std::move(owner)), number_(number) {}
  [[nodiscard]] Result<void> write_next(bool is_released);

  std::shared_ptr<Disk> disk_;
  Owner owner_;
  std::uint64_t number_;
};

[[nodiscard]] std::string encode_claim(const Owner& owner, bool is_released);
[[nodiscard]] Result<ClaimNote> decode_claim(std::uint64_t number, std::string_view text);

// The claim that holds; nothing where nobody ever claimed. One that cannot be understood is an error.
[[nodiscard]] Result<std::optional<ClaimNote>> newest_claim(const Disk& disk);

}  // namespace ratoon::checkpoint
