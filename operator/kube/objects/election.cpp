#include "operator/kube/objects/election.h"

#include <algorithm>

#include "operator/kube/metadata.h"

namespace ratoon::kube {
namespace {

// The longest lease that counts: a wrong record with a longer lease would lock out all candidates.
constexpr Duration kLeaseMax = std::chrono::minutes(1);

// Returns the duration in the lease's record, but at least our own setting and at most kLeaseMax.
Duration lifetime(const Lease& lease, const ElectionTimes& times) {
  return std::clamp<Duration>(std::chrono::seconds(lease.duration_seconds), times.lease,
                              std::max(times.lease, kLeaseMax));
}

ElectionMove move_of_leader(const ElectionView& view, const Candidate& self, Timestamp now,
                            const ElectionTimes& times) {
  if (now - *view.renewed >= times.renew) return ElectionMove::kStepDown;
  if (!view.lease) return ElectionMove::kCreate;  // it was deleted, and all candidates wait
  return view.lease->holder == self.identity ? ElectionMove::kRenew : ElectionMove::kStepDown;
}

}  // namespace

void ElectionView::note_read(std::optional<Lease> found, Timestamp now) {
  // `version` is 0 if the lease's version is not a number: such versions are not compared.
  const std::uint64_t version = found ? parse_version(found->resource_version) : 0;
  is_set_back |= version != 0 && version < newest;
  newest = std::max(newest, version);
  if (!seen || found != lease) seen = now;
  lease = std::move(found);
}

void ElectionView::note_claimed(Lease made, Timestamp sent, Timestamp now) {
  note_read(std::move(made), now);
  renewed = sent;
}

ElectionMove choose_election_move(const ElectionView& view, const Candidate& self, Timestamp now,
                                  const ElectionTimes& times) {
  if (!view.seen) return ElectionMove::kWait;
  if (view.is_set_back) return ElectionMove::kStepDown;
  if (view.renewed) return move_of_leader(view, self, now, times);
  const Duration unchanged = now - *view.seen;
  // If the lease was deleted, its last holder may not know that yet: wait before creating a new one.
  if (!view.lease) return unchanged >= times.lease ? ElectionMove::kCreate : ElectionMove::kWait;
  const std::string& holder = view.lease->holder;
  const bool is_predecessor = !self.seat.empty() && holder.starts_with(self.seat);
  // If the record has our own name although no claim was confirmed, the answer to our claim was lost.
  if (holder.empty() || holder == self.identity || is_predecessor) return ElectionMove::kTake;
  return unchanged >= lifetime(*view.lease, times) ? ElectionMove::kTake : ElectionMove::kWait;
}

}  // namespace ratoon::kube
