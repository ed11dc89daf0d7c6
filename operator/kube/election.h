// Election: which of several operators writes. The rule by which no two do at once:
//
//   a leader writes only until `renew` after it sent its last renewal that succeeded;
//   a candidate takes the lease only `lease` after it saw the record change last, and only that very record.
//
// What a candidate sees is later than what its leader sent, so between the end of one and the beginning of
// the other there is `lease` - `renew`, measured by each on its own monotonic clock. Nobody compares clocks.
// A creation names no version: deleting a record that not every candidate has seen yet breaks the rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "operator/kube/lease.h"

namespace ratoon::kube {

struct ElectionTimes {
  Duration lease{std::chrono::seconds(6)};
  Duration renew{std::chrono::seconds(4)};
  Duration retry{std::chrono::seconds(1)};  // between two looks or renewals
};

// Who we are in the record.
struct Candidate {
  std::string identity;  // of this start of the program, like no other
  // What `identity` begins with, where it names a place that holds one living process at a time, a pod's
  // container: who held the lease there before is dead. Empty: such a place is not known.
  std::string seat{};
};

// What we know of the lease.
struct ElectionView {
  std::optional<Timestamp> seen;     // when its present state was seen first; empty: it could never be read
  std::optional<Lease> lease;        // empty: there is none
  std::optional<Timestamp> renewed;  // as its holder: when the last claim that succeeded was sent
  std::uint64_t newest = 0;          // version of the lease that was ever seen
  // The server showed an older lease than before: its store was set back, as to a backup. What else we know
  // of it is of a time that has not been, and it tells us of nothing that we take for old.
  bool is_set_back = false;

  // What was read; `now` is when the answer was there.
  void note_read(std::optional<Lease> found, Timestamp now);
  // What a claim of ours made of it.
  void note_claimed(Lease made, Timestamp sent, Timestamp now);
};

enum class Move {
  kWait,      // look again after a while
  kCreate,    // there is none and nobody can still believe to have it
  kTake,      // over or given back
  kRenew,     // it is ours
  kStepDown,  // it was ours, or the server was set back: write nothing more
};

[[nodiscard]] Move choose_move(const ElectionView& view, const Candidate& self, Timestamp now,
                               const ElectionTimes& times);

}  // namespace ratoon::kube
