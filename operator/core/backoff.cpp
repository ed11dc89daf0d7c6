#include "operator/core/backoff.h"

#include <algorithm>
#include <chrono>

namespace ratoon::core {
namespace {

void put_off(const Observation& seen, const std::vector<Loss>& losses, Duration pause, RosterChange& change) {
  for (const auto& loss : losses) {
    if (loss.cause != EndCause::kApplication) continue;
    for (auto& member : change.members) {
      const bool is_it = member.index == loss.member.index && member.role == loss.member.role;
      // A successor that is there already takes over at once.
      if (!is_it || !member.uid.empty() || member.is_leaving()) continue;
      member.not_before = WallTime{seen.wall_now.since_epoch + pause};
    }
  }
}

}  // namespace

Duration pause_after(const api::RestartPolicy& policy, std::uint32_t crashes_in_a_row) {
  constexpr std::uint32_t kDoublingsMax = 12;  // more than any pause allows
  if (crashes_in_a_row == 0) return Duration(0);
  const std::uint64_t pause = std::uint64_t{policy.backoff_seconds}
                              << std::min(crashes_in_a_row - 1, kDoublingsMax);
  return std::chrono::seconds(std::min<std::uint64_t>(pause, policy.backoff_max_seconds));
}

void put_off_crashed(const Observation& seen, bool has_stepped, RosterChange& change) {
  const auto& before = seen.job.status.restarts;
  change.restarts.crashes_in_a_row = has_stepped ? 0 : before.crashes_in_a_row;
  if (change.restarts.application == before.application) return;
  ++change.restarts.crashes_in_a_row;
  const Duration pause = pause_after(seen.job.spec.restart_policy, change.restarts.crashes_in_a_row);
  if (pause == Duration(0)) return;
  put_off(seen, change.losses, pause, change);
  put_off(seen, change.outside_losses, pause, change);
}

std::optional<WallTime> end_pauses(const Observation& seen, std::vector<api::MemberStatus>& members) {
  std::optional<WallTime> next;
  for (auto& member : members) {
    if (!member.not_before) continue;
    if (*member.not_before <= seen.wall_now) {
      member.not_before.reset();
    } else {
      next = std::min(*member.not_before, next.value_or(*member.not_before));
    }
  }
  return next;
}

}  // namespace ratoon::core
