#include "operator/core/losses.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operator/core/backoff.h"
#include "operator/core/deadlines.h"
#include "operator/core/gang.h"
#include "operator/core/group.h"
#include "operator/core/repeated_fault.h"

namespace ratoon::core {
namespace {

// Losses that no pod shows by itself. Where somebody hangs, that is why there is no step; that a world steps
// excuses nobody who is to join it.
std::vector<Verdict> find_condemned(const Observation& seen, const Hang& hang, bool has_stepped,
                                    Timestamp now) {
  auto condemned = hang.culprits;
  for (auto& late : find_late(seen, now)) condemned.push_back(std::move(late));
  if (has_stepped || !hang.culprits.empty() || !hang.of_world.empty()) return condemned;
  for (auto& stalled : find_stalled(seen, now)) condemned.push_back(std::move(stalled));
  return condemned;
}

// A limit that the job did not set ends none over an outage, however long: its members are made again after
// pauses.
bool is_free_of_blame(const api::RestartPolicy& policy, const Loss& loss) {
  const bool is_outage = loss.is_of_storage || loss.is_unheard;
  return loss.cause == EndCause::kDisruption &&
         (loss.is_of_platform || (is_outage && !policy.is_losses_max_given));
}

// Members of the world that stood, in whose pods a launcher started processes anew since: each of them ends
// the world as a member that is lost does. A world that saves before it rests stands on, and they would be
// counted at each look.
std::size_t count_restarted_in_place(const Observation& seen, const RosterChange& change) {
  if (seen.world.empty() || seen.job.spec.is_suspended || seen.job.status.suspending_since) return 0;
  std::map<std::pair<std::string_view, std::uint32_t>, std::string_view> starts;
  for (const auto& process : seen.processes)
    starts[{process.identity.member_uid, process.identity.local_rank}] = process.identity.start;
  std::set<std::string_view> restarted;
  for (const auto& [process, assignment] : seen.world) {
    const auto start = starts.find({process.member_uid, process.local_rank});
    if (start != starts.end() && start->second != process.start) restarted.insert(process.member_uid);
  }
  if (restarted.empty() || is_intact(seen, change.members)) return 0;
  // One that was lost has no pod yet.
  return static_cast<std::size_t>(std::ranges::count_if(change.members, [&](const api::MemberStatus& member) {
    return !member.is_completed && !member.uid.empty() && restarted.contains(member.uid);
  }));
}

std::string describe_last(const Observation& seen, const RosterChange& change) {
  const auto& losses = change.losses.empty() ? change.outside_losses : change.losses;
  if (losses.empty()) return "; the last was a process that its launcher started anew in its pod";
  return "; the last was " + display_name(seen, losses.back().member) + ": " + losses.back().reason;
}

// Losses in a row that gained nothing: those of a program that cannot start, whatever its exit code says, and
// those that come more often than its saves, so that it makes the same steps for ever. Spot machines can be
// lost several times before the first one. What the platform says that it did itself is held against no job.
void count_in_vain(const Observation& seen, bool has_advanced, RosterChange& change) {
  const std::size_t per_member_max = seen.job.spec.restart_policy.losses_without_step_max;
  const auto& before = seen.job.status.restarts;
  const auto& after = change.restarts;
  // What a world that stands does without costs it no step.
  const bool stands = seen.job.status.is_formed;
  const auto counts_not = [&](const Loss& loss) {
    return is_free_of_blame(seen.job.spec.restart_policy, loss);
  };
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

RosterChange change_roster(const Observation& seen, const Silence& silence, const Hang& hang,
                           const Headway& headway, Timestamp now) {
  RosterChange change =
      replace_lost(seen, silence.lost, find_condemned(seen, hang, headway.has_stepped, now));
  if (!hang.of_world.empty() && change.losses.empty()) give_up_world(seen, hang.of_world, change);
  count_in_vain(seen, headway.has_advanced, change);
  if (change.fatal.empty() && !headway.has_stepped) change.fatal = find_repeated_fault(seen, change);
  put_off_crashed(seen, headway.has_stepped, change);
  if (api::is_group(seen.job.spec)) restart_group(seen, change);
  return change;
}

std::string describe_loss(const Observation& seen, const RosterChange& change, const std::string& otherwise) {
  if (!change.gives_up_world.empty()) return change.gives_up_world;
  if (change.losses.empty()) return otherwise;
  return display_name(seen, change.losses.front().member) + " was lost: " + change.losses.front().reason;
}

}  // namespace ratoon::core
