// Election: chooses one of several operators as the leader, and only the leader writes. Two rules keep two
// operators from writing at the same time:
//
//   a leader writes only until `renew` after it sent its last renewal that succeeded;
//   a candidate takes the lease only `lease` after it last saw the record change, and only that same record.
//
// A candidate sees a record only after the leader has sent it, so at least `lease` - `renew` passes between
// the end of one leadership and the start of the next. Each operator measures with its own monotonic clock;
// no two clocks are compared. If a user deletes the leader's record, another operator may create a new record
// and lead before the old leader notices. Then both operators may write to the API server for a moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "operator/kube/objects/lease.h"

namespace ratoon::kube {

struct ElectionTimes {
  Duration lease{std::chrono::seconds(6)};
  Duration renew{std::chrono::seconds(4)};
  Duration retry{std::chrono::seconds(1)};  // between two reads or renewals
};

// The name that this operator writes into the lease's record when it becomes the leader.
struct Candidate {
  std::string identity;  // unique to this start of the program
  // A prefix of `identity` that names a place with only one process at a time, such as a pod's container. Any
  // earlier lease holder with this prefix has ended. May be empty.
  std::string identity_prefix{};
};

// The facts that this operator has about the lease.
struct ElectionView {
  std::optional<Timestamp> seen;     // when its current state was first seen; empty: it was never read
  std::optional<Lease> lease;        // empty: there is none
  std::optional<Timestamp> renewed;  // if we hold it: when the last successful claim was sent
  std::uint64_t newest = 0;          // highest version of the lease that was ever seen
  // True if the server returned an older lease than before, because its store was restored to an older state.
  // After a restore this operator's caches are wrong: it would ignore changes on the server, because their
  // versions are lower.
  bool is_server_restored = false;

  // Records the result of reading the lease; `now` is when the answer arrived.
  void note_read(std::optional<Lease> found, Timestamp now);
  // Records that this operator's own write of the lease succeeded.
  void note_own_write(Lease made, Timestamp sent, Timestamp now);
};

enum class ElectionAction {
  kWait,      // read it again after a while
  kCreate,    // there is none, and no operator can still believe that it holds it
  kTake,      // it has expired or was given back
  kRenew,     // we hold it
  kStepDown,  // we lost it, or the server's store is older than before: write nothing further
};

[[nodiscard]] ElectionAction choose_election_action(const ElectionView& view, const Candidate& self,
                                                    Timestamp now, const ElectionTimes& times);

}  // namespace ratoon::kube
