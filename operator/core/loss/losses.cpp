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

// Returns lost members whose pods run: hung, late, unreachable or stalled. If there is a hang or a broken
// link, it explains the missing steps, and no member counts as stalled. Members whose first message is late
// count as lost even if the world makes steps.
std::vector<CondemnedMember> find_condemned(const Observation& seen, const Hang& hang,
                                            const Unreachable& unreachable, bool has_stepped, Timestamp now) {
  auto condemned = hang.culprits;
  for (auto& late : find_late_members(seen, now)) condemned.push_back(std::move(late));
  if (unreachable.culprit && !has_stepped && hang.culprits.empty()) condemned.push_back(*unreachable.culprit);
  const bool is_explained = unreachable.is_any || !hang.culprits.empty() || !hang.of_world.empty();
  if (has_stepped || is_explained) return condemned;
  for (auto& stalled : find_stalled_members(seen, now)) condemned.push_back(std::move(stalled));
  return condemned;
}

// Returns whether the loss must not fail the job: if the spec sets no limit, an outage of any length fails no
// job.
bool is_blameless(const api::RestartPolicy& policy, const Loss& loss) {
  const bool is_outage = loss.is_of_storage || loss.is_unheard;
  return loss.cause == EndCause::kDisruption &&
         (loss.is_of_platform || (is_outage && !policy.is_losses_max_given));
}

// Counts members of the last world whose launcher restarted a process in the same pod: such a restart ends
// the world, as the loss of a member does. Returns 0 while the job is being suspended: the world lasts until
// it has saved, so each decision would count the same restart again.
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
  // Do not count lost members again; their replacements have no pod (and no UID) yet.
  return static_cast<std::size_t>(std::ranges::count_if(change.members, [&](const api::MemberStatus& member) {
    return !member.is_completed && !member.uid.empty() && restarted.contains(member.uid);
  }));
}

std::string describe_last(const Observation& seen, const RosterChange& change) {
  const auto& losses = change.losses.empty() ? change.outside_losses : change.losses;
  if (losses.empty()) return "; the last was a process that its launcher restarted in its pod";
  return "; the last was " + display_name(seen, losses.back().member) + ": " + losses.back().reason;
}

// Counts consecutive losses without a new step or checkpoint, and fails the job if there are too many: a
// program that cannot start, or losses more frequent than saves, would repeat the same steps forever. The
// limit of consecutive losses allows for several losses of spot machines before the first saved checkpoint.
// Losses that the platform caused are not counted.
void count_losses_without_progress(const Observation& seen, bool has_advanced, RosterChange& change) {
  const std::size_t per_member_max = seen.job.spec.restart_policy.losses_without_step_max;
  const auto& before = seen.job.status.restarts;
  const auto& after = change.restarts;
  // If a world trains, losses of members outside of it do not count, because the world repeats no step for
  // them.
  const bool stands = seen.job.status.is_formed;
  const auto counts_not = [&](const Loss& loss) { return is_blameless(seen.job.spec.restart_policy, loss); };
  const auto free =
      std::ranges::count_if(change.losses, counts_not) +
      (stands ? std::ssize(change.outside_losses) : std::ranges::count_if(change.outside_losses, counts_not));
  const auto losses = static_cast<std::uint32_t>(
      after.application + after.hung + after.disruption - before.application - before.hung -
      before.disruption - static_cast<std::uint64_t>(free) + count_restarted_in_place(seen, change));
  change.restarts.without_step = (has_advanced ? 0 : before.without_step) + losses;
  if (losses == 0 || change.restarts.without_step <= per_member_max * change.members.size()) return;
  if (change.fatal.empty()) {
    change.fatal = std::to_string(change.restarts.without_step) +
                   " losses in a row, and no new step or checkpoint between them: see the members' logs" +
                   describe_last(seen, change);
  }
}

}  // namespace

RosterChange change_roster(const Observation& seen, const SilentMembers& silence, const Hang& hang,
                           const Unreachable& unreachable, const ProgressMade& progress, Timestamp now) {
  RosterChange change =
      replace_lost(seen, silence.lost, find_condemned(seen, hang, unreachable, progress.has_stepped, now));
  if (!hang.of_world.empty() && change.losses.empty()) give_up_world(seen, hang.of_world, change);
  count_losses_without_progress(seen, progress.has_advanced, change);
  if (change.fatal.empty() && !progress.has_stepped) change.fatal = find_repeated_fault(seen, change);
  delay_crashed_members(seen, progress.has_stepped, change);
  if (api::is_group(seen.job.spec)) restart_group(seen, change);
  return change;
}

std::string describe_loss(const Observation& seen, const RosterChange& change, const std::string& otherwise) {
  if (!change.gives_up_world.empty()) return change.gives_up_world;
  if (change.losses.empty()) return otherwise;
  return display_name(seen, change.losses.front().member) + " was lost: " + change.losses.front().reason;
}

}  // namespace ratoon::core
