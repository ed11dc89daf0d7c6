#include "operator/kube/objects/election.h"

#include <algorithm>

#include "operator/kube/metadata.h"

namespace ratoon::kube {
namespace {

// A lease with a longer duration counts as a lease of this duration. Otherwise a wrong record with a long
// duration would keep all candidates from leading.
constexpr Duration kLeaseDurationMax = std::chrono::minutes(1);

// Returns the duration in the lease's record, but at least our own setting and at most kLeaseDurationMax.
Duration lease_duration_of(const Lease& lease, const ElectionTimes& times) {
  return std::clamp<Duration>(std::chrono::seconds(lease.duration_seconds), times.lease,
                              std::max(times.lease, kLeaseDurationMax));
}

ElectionAction choose_leader_action(const ElectionView& view, const Candidate& self, Timestamp now,
                                    const ElectionTimes& times) {
  if (now - *view.renewed >= times.renew) return ElectionAction::kStepDown;
  if (!view.lease) return ElectionAction::kCreate;  // it was deleted, and all candidates wait
  return view.lease->holder == self.identity ? ElectionAction::kRenew : ElectionAction::kStepDown;
}

}  // namespace

void ElectionView::note_read(std::optional<Lease> found, Timestamp now) {
  // `version` is 0 if the lease's version is not a number; a version of 0 is never compared.
  const std::uint64_t version = found ? parse_version(found->resource_version) : 0;
  is_server_restored |= version != 0 && version < newest;
  newest = std::max(newest, version);
  if (!seen || found != lease) seen = now;
  lease = std::move(found);
}

void ElectionView::note_own_write(Lease made, Timestamp sent, Timestamp now) {
  note_read(std::move(made), now);
  renewed = sent;
}

ElectionAction choose_election_action(const ElectionView& view, const Candidate& self, Timestamp now,
                                      const ElectionTimes& times) {
  if (!view.seen) return ElectionAction::kWait;
  if (view.is_server_restored) return ElectionAction::kStepDown;
  if (view.renewed) return choose_leader_action(view, self, now, times);
  const Duration unchanged = now - *view.seen;
  // If the lease was deleted, its last holder may not know that yet: wait before you create a new lease.
  if (!view.lease) return unchanged >= times.lease ? ElectionAction::kCreate : ElectionAction::kWait;
  const std::string& holder = view.lease->holder;
  const bool is_predecessor = !self.identity_prefix.empty() && holder.starts_with(self.identity_prefix);
  // If the record has our own name although no claim was confirmed, only the reply to our claim was lost.
  if (holder.empty() || holder == self.identity || is_predecessor) return ElectionAction::kTake;
  return unchanged >= lease_duration_of(*view.lease, times) ? ElectionAction::kTake : ElectionAction::kWait;
}

}  // namespace ratoon::kube
