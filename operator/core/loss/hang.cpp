#include "operator/core/loss/hang.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/contract/codec.h"
#include "operator/core/loss/unreachable.h"
#include "operator/core/members/completion.h"
#include "operator/core/observation_index.h"

namespace ratoon::core {
namespace {

constexpr std::uint32_t kDoublingsMax = 5;

// A process of the current world, with its newest heartbeat.
struct ProcessHeartbeat {
  api::MemberStatus member;
  const Heartbeat* beat = nullptr;
  Timestamp heard;
  std::optional<double> limit_seconds;  // nullopt: no limit

  [[nodiscard]] bool is_overdue() const { return limit_seconds && beat->seconds_in_phase > *limit_seconds; }
  [[nodiscard]] Timestamp overdue_since() const {
    return heard + from_seconds(*limit_seconds - beat->seconds_in_phase);
  }
  [[nodiscard]] bool waits() const { return beat->phase == ProcessPhase::kCollective; }
};

struct WorldHeartbeats {
  std::vector<ProcessHeartbeat> standers;
  bool is_all_heard = true;
};

// Returns whether the process's heartbeat belongs to the current world: it has the world's attempt, and the
// process does not wait to join.
bool reports_current_world(const Observation& seen, const api::ProcessFacts& process) {
  return !process.is_completed && !process.join_request && process.beat &&
         process.beat->attempt == seen.job.status.attempt;
}

WorldHeartbeats collect_heartbeats(const Observation& seen) {
  WorldHeartbeats world;
  const double limit_factor = 1U << std::min(seen.job.status.restarts.hung, kDoublingsMax);
  for (const auto& member : seen.job.status.members) {
    if (member.is_absent || is_completed(seen, member)) continue;
    std::size_t heard = 0;
    for (const auto* const of_member : processes_of(seen, member)) {
      const auto& process = *of_member;
      if (!is_process_of(process.identity, member)) continue;
      if (process.is_completed) ++heard;
      if (!reports_current_world(seen, process)) continue;
      ++heard;
      const auto& allowed = process.beat->allowed_seconds;
      world.standers.push_back(
          {.member = member,
           .beat = &*process.beat,
           .heard = process.last_heard,
           .limit_seconds = allowed ? std::optional(*allowed * limit_factor) : std::nullopt});
    }
    world.is_all_heard = world.is_all_heard && heard >= seen.job.spec.processes_per_node;
  }
  return world;
}

std::string describe(const ProcessHeartbeat& stander) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), "%.1f s in %s at step %llu, %.1f s are allowed",
                stander.beat->seconds_in_phase, std::string(name_of(stander.beat->phase)).c_str(),
                static_cast<unsigned long long>(stander.beat->step.value()), *stander.limit_seconds);
  return text.data();
}

std::vector<const ProcessHeartbeat*> find_overdue_processes(const WorldHeartbeats& world) {
  std::vector<const ProcessHeartbeat*> found;
  for (const auto& stander : world.standers)
    if (!stander.waits() && stander.is_overdue()) found.push_back(&stander);
  return found;
}

// Returns whether all processes are in a collective (such as all-reduce) for longer than allowed. All ranks
// make each step together. So a process whose newest heartbeat has an old step has made later steps, but its
// later heartbeats did not arrive. If a process died after its newest heartbeat, the others wait for it, and
// silence.h has the rules for it. So is_stuck_in_collective() also requires that each newest heartbeat was
// sent after all processes were overdue.
bool is_stuck_in_collective(const WorldHeartbeats& world, Step reached) {
  if (!world.is_all_heard || world.standers.empty()) return false;
  Timestamp oldest_beat = world.standers.front().heard;
  Timestamp all_overdue_since;
  for (const ProcessHeartbeat& stander : world.standers) {
    const bool is_old = stander.beat->step.value() + 1 < reached.value();
    if (!stander.waits() || !stander.is_overdue() || is_old) return false;
    oldest_beat = std::min(oldest_beat, stander.heard);
    all_overdue_since = std::max(all_overdue_since, stander.overdue_since());
  }
  return oldest_beat >= all_overdue_since;
}

std::vector<const ProcessHeartbeat*> find_lagging_processes(const WorldHeartbeats& world) {
  const auto by_step = [](const ProcessHeartbeat& a, const ProcessHeartbeat& b) {
    return a.beat->step < b.beat->step;
  };
  const auto [first, last] = std::minmax_element(world.standers.begin(), world.standers.end(), by_step);
  std::vector<const ProcessHeartbeat*> behind;
  if (first->beat->step == last->beat->step) return behind;
  for (const auto& stander : world.standers)
    if (stander.beat->step == first->beat->step) behind.push_back(&stander);
  return behind;
}

std::vector<MemberToReplace> make_members_to_replace(const std::vector<const ProcessHeartbeat*>& culprits) {
  std::vector<MemberToReplace> verdicts;
  for (const ProcessHeartbeat* culprit : culprits) {
    const bool is_known = std::any_of(verdicts.begin(), verdicts.end(),
                                      [&](const MemberToReplace& v) { return v.member == culprit->member; });
    if (is_known) continue;
    verdicts.push_back(
        {culprit->member, {EndCause::kHung, "hung: " + describe(*culprit), /*is_shared=*/true}});
  }
  return verdicts;
}

// Returns when to check for a hang again. The first heartbeat after a limit may come one heartbeat interval
// after the limit has passed.
std::optional<Timestamp> next_check(const Observation& seen, const WorldHeartbeats& world, Timestamp now) {
  const Duration beat = std::chrono::seconds(seen.job.spec.disruption_policy.heartbeat_seconds);
  std::optional<Timestamp> next;
  for (const auto& stander : world.standers) {
    if (!stander.limit_seconds) continue;
    const double left_seconds = std::max(0.0, *stander.limit_seconds - stander.beat->seconds_in_phase);
    const Timestamp due = std::max(stander.heard + from_seconds(left_seconds), now) + beat;
    next = std::min(due, next.value_or(due));
  }
  return next;
}

}  // namespace

Hang find_hang(const Observation& seen, Timestamp now) {
  if (!seen.job.status.is_world_formed) return {};
  const WorldHeartbeats world = collect_heartbeats(seen);
  std::vector<const ProcessHeartbeat*> culprits = find_overdue_processes(world);
  Hang hang;
  if (culprits.empty() && is_stuck_in_collective(world, seen.job.status.step) &&
      !find_unreachable(seen, now).is_any_reported) {
    culprits = find_lagging_processes(world);
    if (culprits.empty())
      hang.world_hang_reason = "all processes wait for each other: " + describe(world.standers.front());
  }
  hang.culprits = make_members_to_replace(culprits);
  hang.next_check = next_check(seen, world, now);
  return hang;
}

}  // namespace ratoon::core
