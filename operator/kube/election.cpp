#include "operator/kube/election.h"

#include <algorithm>

#include "operator/kube/metadata.h"

namespace ratoon::kube {
namespace {

// A record that asks for more would lock everybody out.
constexpr Duration kLeaseMax = std::chrono::minutes(1);

// As long as its holder said, and as we would ourselves.
Duration lifetime(const Lease& lease, const ElectionTimes& times) {
  return std::clamp<Duration>(std::chrono::seconds(lease.duration_seconds), times.lease,
                              std::max(times.lease, kLeaseMax));
}

Move move_of_leader(const ElectionView& view, const Candidate& self, Timestamp now,
                    const ElectionTimes& times) {
  if (now - *view.renewed >= times.renew) return Move::kStepDown;
  if (!view.lease) return Move::kCreate;  // somebody deleted it, and everybody waits
  return view.lease->holder == self.identity ? Move::kRenew : Move::kStepDown;
}

}  // namespace

void ElectionView::note_read(std::optional<Lease> found, Timestamp now) {
  // Of a number that cannot be read nothing follows.
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

Move choose_move(const ElectionView& view, const Candidate& self, Timestamp now, const ElectionTimes& times) {
  if (!view.seen) return Move::kWait;
  if (view.is_set_back) return Move::kStepDown;
  if (view.renewed) return move_of_leader(view, self, now, times);
  const Duration unchanged = now - *view.seen;
  // One that vanished had a holder, who may not know it yet.
  if (!view.lease) return unchanged >= times.lease ? Move::kCreate : Move::kWait;
  const std::string& holder = view.lease->holder;
  const bool is_predecessor = !self.seat.empty() && holder.starts_with(self.seat);
  // Our own name without a confirmation: the answer to our claim was lost.
  if (holder.empty() || holder == self.identity || is_predecessor) return Move::kTake;
  return unchanged >= lifetime(*view.lease, times) ? Move::kTake : Move::kWait;
}

}  // namespace ratoon::kube
