#include "operator/core/loss/losses.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operator/core/loss/deadlines.h"
#include "operator/core/loss/fault/repeated_fault.h"
#include "operator/core/policy/backoff.h"
#include "operator/core/world/agentless_group.h"
#include "operator/core/world/gang.h"

namespace ratoon::core {
namespace {

// Returns lost members whose pods run: hung, late, unreachable or stalled. If a hang or a broken link was
// found, it explains why steps are missing, and no member counts as stalled. Members whose first message is
// late count as lost, even if the world makes steps.
std::vector<MemberToReplace> find_members_to_replace(const Observation& seen, const Hang& hang,
                                                     const UnreachableMembers& unreachable, bool has_stepped,
                                                     Timestamp now) {
  auto to_replace = hang.culprits;
  for (auto& late : find_late_members(seen, now)) to_replace.push_back(std::move(late));
  if (unreachable.culprit && !has_stepped && hang.culprits.empty())
    to_replace.push_back(*unreachable.culprit);
  const bool is_explained =
      unreachable.is_any_reported || !hang.culprits.empty() || !hang.world_hang_reason.empty();
  if (has_stepped || is_explained) return to_replace;
  for (auto& stalled : find_stalled_members(seen, now)) to_replace.push_back(std::move(stalled));
  return to_replace;
}

// Returns whether the loss does not count toward the job's limit of consecutive losses. If the spec does not
// set this limit, an outage (of the storage, of an accelerator, or of the connection to all members) does not
// count.
bool is_exempt_from_loss_limit(const api::RestartPolicy& policy, const Loss& loss) {
  const bool is_outage = loss.is_storage_fault || loss.is_device_fault || loss.is_whole_job_unheard;
  return loss.cause == EndCause::kDisruption &&
         (loss.is_platform_caused || (is_outage && !policy.is_losses_without_step_max_set));
}

// Counts members of the last world whose launcher restarted a process in the same pod. The restart of a
// process ends the world, as the loss of a member does. Returns 0 while the job is being suspended: the world
// of such a job exists until it has saved, and each decision before the end of the save would count the same
// restart again.
std::size_t count_restarted_in_place(const Observation& seen, const RosterChange& change) {
  if (seen.world.empty() || seen.job.spec.is_suspended || seen.job.status.suspending_since) return 0;
  std::map<std::pair<std::string_view, std::uint32_t>, std::string_view> starts;
  for (const auto& process : seen.processes)
    starts[{process.identity.member_uid, process.identity.local_rank}] = process.identity.start;
  std::set<std::string_view> restarted;
  for (const auto& seat : seen.world) {
    const ProcessIdentity& process = seat.process;
    const auto start = starts.find({process.member_uid, process.local_rank});
    if (start != starts.end() && start->second != process.start) restarted.insert(process.member_uid);
  }
  if (restarted.empty() || is_intact(seen, change.members)) return 0;
  // Do not count members that are lost already; their replacements have no pod (and no UID) yet.
  return static_cast<std::size_t>(std::ranges::count_if(change.members, [&](const api::MemberStatus& member) {
    return !member.is_completed && !member.uid.empty() && restarted.contains(member.uid);
  }));
}

std::string describe_last_loss(const Observation& seen, const RosterChange& change) {
  const auto& losses = change.losses.empty() ? change.outside_losses : change.losses;
  if (losses.empty()) return "; the last was a process that its launcher restarted in its pod";
  return "; the last was " + display_name(seen, losses.back().member) + ": " + losses.back().reason;
}

// Counts consecutive losses without a new step or checkpoint, and fails the job if there are too many.
// Otherwise a program that cannot start, or that is lost before each save, would repeat the same steps
// forever. The limit of consecutive losses is high enough for several losses of spot machines before the
// first saved checkpoint. Losses that the platform caused are not counted.
void count_losses_without_progress(const Observation& seen, bool has_advanced, RosterChange& change) {
  const std::size_t per_member_max = seen.job.spec.restart_policy.losses_without_step_max;
  const auto& before = seen.job.status.restarts;
  const auto& after = change.restarts;
  // While a world trains, losses of members outside of it do not count, because they repeat no step of the
  // world.
  const bool stands = seen.job.status.is_world_formed;
  const auto counts_not = [&](const Loss& loss) {
    return is_exempt_from_loss_limit(seen.job.spec.restart_policy, loss);
  };
  const auto free =
      std::ranges::count_if(change.losses, counts_not) +
      (stands ? std::ssize(change.outside_losses) : std::ranges::count_if(change.outside_losses, counts_not));
  const auto losses = static_cast<std::uint32_t>(
      after.application + after.hung + after.disruption - before.application - before.hung -
      before.disruption - static_cast<std::uint64_t>(free) + count_restarted_in_place(seen, change));
  change.restarts.losses_without_step = (has_advanced ? 0 : before.losses_without_step) + losses;
  if (losses == 0 || change.restarts.losses_without_step <= per_member_max * change.members.size()) return;
  if (change.fatal_reason.empty()) {
    change.fatal_reason =
        std::to_string(change.restarts.losses_without_step) +
        " losses in a row, and no new step or checkpoint between them: see the members' logs" +
        describe_last_loss(seen, change);
  }
}

}  // namespace

RosterChange change_roster(const Observation& seen, const SilentMembers& silence, const Hang& hang,
                           const UnreachableMembers& unreachable, const ProgressMade& progress,
                           Timestamp now) {
  RosterChange change = replace_lost(
      seen, silence.lost, find_members_to_replace(seen, hang, unreachable, progress.has_stepped, now));
  if (!hang.world_hang_reason.empty() && change.losses.empty())
    give_up_world(seen, hang.world_hang_reason, change);
  count_losses_without_progress(seen, progress.has_advanced, change);
  if (change.fatal_reason.empty() && !progress.has_stepped)
    change.fatal_reason = find_repeated_fault(seen, change);
  delay_crashed_members(seen, progress.has_stepped, change);
  if (api::is_agentless(seen.job.spec)) restart_group(seen, change);
  return change;
}

std::string describe_loss(const Observation& seen, const RosterChange& change, const std::string& otherwise) {
  if (!change.gives_up_world.empty()) return change.gives_up_world;
  if (change.losses.empty()) return otherwise;
  return display_name(seen, change.losses.front().member) + " was lost: " + change.losses.front().reason;
}

}  // namespace ratoon::core
