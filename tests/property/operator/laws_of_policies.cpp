// Laws about the policies of the job: the cost of an ending, the completion of all, sizes and times.
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/property/operator/laws.h"
#include "tests/property/operator/recount.h"

namespace ratoon::sim {
namespace {

using core::Decision;
using core::Observation;

WallTime after(WallTime moment, std::uint32_t seconds) {
  return {moment.since_epoch + std::chrono::seconds(seconds)};
}

// Members and successors whose end this decision reports, in its order.
std::vector<Lost> lost_of(const World& world, const Observation& seen, const Decision& decision) {
  std::vector<Lost> lost;
  for (const auto& action : decision.actions) {
    const auto* event = std::get_if<core::EmitEvent>(&action);
    if (event == nullptr || event->reason != "MemberLost") continue;
    Lost one{.name = event->message.substr(0, event->message.find(": ")), .said = event->message, .role = {}};
    const auto members = members_of(seen.job);
    bool is_of_world = false;
    for (const auto& member : incarnations_of(members)) {
      if (name_of(member) != one.name) continue;
      one.role = member.role;
      const bool is_seated = std::ranges::any_of(
          members, [&](const auto& known) { return name_of(known) == one.name && !known.is_absent; });
      one.is_outside = seen.job.status.is_world_formed && !is_seated;
      is_of_world = seen.job.status.is_world_formed && is_seated;
      for (const auto& pod : seen.pods)
        if (pod.name == one.name && (member.uid.empty() || pod.uid == member.uid)) one.pod = &pod;
    }
    one.node_goes = one.pod != nullptr && world.is_noticed(one.pod->node);
    one.trains_on =
        is_of_world && one.pod != nullptr && !one.pod->has_ended() && one.pod->ends_at > seen.wall_now;
    lost.push_back(std::move(one));
  }
  return lost;
}

}  // namespace

namespace {

constexpr int kStorageFailed = 84;

// Members of the world whose processes differ from the processes that got the seats.
std::uint32_t count_begun_again(const std::vector<api::AssignedProcess>& world,
                                const std::vector<api::ProcessFacts>& processes) {
  std::set<std::string> uids;
  for (const auto& seat : world)
    for (const auto& process : processes) {
      const auto& identity = process.identity;
      if (identity.member_uid == seat.process.member_uid && identity.local_rank == seat.process.local_rank &&
          identity.start != seat.process.start)
        uids.insert(identity.member_uid);
    }
  return static_cast<std::uint32_t>(uids.size());
}

// Whether each process of the present world that is not done has sent a message since the operator listens,
// and is not silent now.
bool is_heard_whole(const Observation& seen, Timestamp now) {
  const Duration limit = std::chrono::seconds(seen.job.spec.disruption_policy.suspect_after_seconds);
  return std::ranges::all_of(seen.job.status.members, [&](const auto& member) {
    if (member.is_absent || is_known_done(seen, member)) return true;
    std::set<std::uint32_t> heard;
    for (std::uint32_t local_rank = 0; local_rank < seen.job.spec.processes_per_node; ++local_rank)
      if (member.is_done(local_rank)) heard.insert(local_rank);
    for (const auto& process : seen.processes)
      if (sits_for(process.identity, member) &&
          (process.is_completed ||
           (process.last_heard >= seen.listening_since && now - process.last_heard < limit)))
        heard.insert(process.identity.local_rank);
    return heard.size() >= seen.job.spec.processes_per_node;
  });
}

// Whether each member that has a node, and is not done, waits and reported its checkpoints to this operator.
bool are_all_asked(const World& world, const Observation& seen, const api::TrainingJobStatus& status) {
  return std::ranges::all_of(status.members, [&](const auto& member) {
    if (member.node.empty() || member.done != 0 || is_known_done(seen, member)) return true;
    return world.all_wait_in(member.uid);
  });
}

}  // namespace

// Counters, and an end by them, equal a recount of the pods; disruptions cost nothing, a hang one restart.
void Laws::check_bill(const Observation& seen, const Decision& decision) {
  const auto& before = seen.job.status;
  const auto& after = decision.status;
  const auto lost = lost_of(world_, seen, decision);
  const Bill bill = add_up(seen.job.spec, lost);
  const std::uint32_t hung = bill.hung + worlds_hung_in(decision);
  left_with_nodes_ += static_cast<std::uint32_t>(
      std::ranges::count_if(lost, [](const Lost& one) { return one.node_goes && one.pod->exit_code == 0; }));
  EXPECT_EQ(after.restarts.application - before.restarts.application, bill.budget) << "another bill";
  EXPECT_EQ(after.restarts.hung - before.restarts.hung, hung) << "another bill";
  EXPECT_EQ(after.restarts.ignored - before.restarts.ignored, bill.ignored) << "another bill";
  EXPECT_EQ(after.restarts.disruption - before.restarts.disruption, bill.free) << "another bill";
  const std::uint32_t blamed =
      bill.blamed + worlds_hung_in(decision) + count_begun_again(seen.world, seen.processes);
  EXPECT_LE(after.restarts.losses_without_step, before.restarts.losses_without_step + blamed)
      << "what the platform did is held against the job";
  const bool is_used_up = after.restarts.application + after.restarts.hung - after.restarts.ignored >
                          seen.job.spec.restart_policy.restarts_max;
  // A size that the job gets while it saves counts from the next world on.
  const auto members = seen.job.spec.is_suspended && before.is_world_formed ? before.members : after.members;
  const bool is_in_vain = after.restarts.losses_without_step >
                          seen.job.spec.restart_policy.losses_without_step_max * members.size();
  const bool is_any_blamed = blamed > 0;
  const bool has_failed = after.phase == api::JobPhase::kFailed;
  const bool is_too_much =
      bill.ends_job || (is_used_up && bill.budget + hung > bill.ignored) || (is_in_vain && is_any_blamed);
  EXPECT_TRUE(has_failed || !is_too_much) << "goes on after what ends a job";
  const bool is_run_lost = after.message.find("cannot be found by any member") != std::string::npos;
  EXPECT_TRUE(!is_run_lost || !world_.is_any_checkpoint_offered()) << "a waiting member found a checkpoint";
  EXPECT_TRUE(!is_run_lost || are_all_asked(world_, seen, after))
      << "a member that may have the checkpoint was not asked\n"
      << world_.describe();
  EXPECT_TRUE(!has_failed || is_too_much || is_run_lost || after.message.starts_with("maxDurationSeconds"))
      << "failed for no reason: " << after.message;
  if (before.last_failure == after.last_failure) return;
  EXPECT_TRUE(std::any_of(lost.begin(), lost.end(),
                          [&](const auto& one) { return one.name == after.last_failure->member; }))
      << after.last_failure->member << " did not end now";
  const bool is_storage_fault = std::ranges::any_of(
      lost, [](const Lost& one) { return one.pod != nullptr && one.pod->exit_code == kStorageFailed; });
  EXPECT_TRUE(bill.budget > 0 || bill.hung > 0 || bill.ends_job || is_storage_fault)
      << "a disruption is no failure";
}

// The job is over when the deciding members are done, neither earlier nor later.
void Laws::check_success(const Observation& seen, const Decision& decision) const {
  const auto& roles = seen.job.spec.success_policy.roles;
  bool is_any_known = false;
  bool are_all_known = true;
  for (const auto& member : decision.status.members) {
    const auto* known = find_member(seen.job.status, member);
    const bool was_absent = known != nullptr && known->is_absent;
    if (was_absent || !decides(roles, member.role)) continue;
    const bool is_done = is_known_done(seen, member);
    is_any_known = is_any_known || is_done;
    are_all_known = are_all_known && is_done;
    // If a pod ended with 0 and left a record, no other fact about it is known.
    const bool is_told_by_pod = std::ranges::any_of(seen.pods, [&](const auto& pod) {
      return pod.uid == member.uid && pod.is_completed && pod.exit_code == 0 &&
             is_record_true(seen.job.status, pod);
    });
    EXPECT_TRUE(decision.status.phase != api::JobPhase::kSucceeded || is_told_by_pod ||
                world_.has_been_done(member))
        << name_of(member) << " was not done";
  }
  // A suspension with another size is decided once more.
  const bool looks_again = decision.wake_at && *decision.wake_at <= world_.now() &&
                           decision.status.members.size() != seen.job.status.members.size();
  const bool is_over = is_any_known && are_all_known;
  EXPECT_TRUE(is_over || decision.status.phase != api::JobPhase::kSucceeded) << "over, and not all are done";
  EXPECT_TRUE(!is_over || looks_again || api::is_over(decision.status.phase))
      << "all are done, and it is not over";
}

// Fewer members only after the requested patience, more only after the cooldown.
void Laws::check_sizes(const Observation& seen, const Decision& decision) const {
  const auto& before = seen.job.status;
  const auto& status = decision.status;
  const auto& policy = seen.job.spec.elastic_policy;
  const bool is_new = status.is_world_formed && (!before.is_world_formed || before.attempt != status.attempt);
  const auto seated = std::ranges::count_if(
      status.members, [](const auto& member) { return member.role == kWorker && !member.is_absent; });
  const bool is_as_wanted = std::cmp_greater_equal(seated, seen.job.spec.num_nodes);
  for (const auto& member : status.members) {
    const auto* known = find_member(before, member);
    if (!is_new || !member.is_absent || (known != nullptr && known->is_absent)) continue;
    ASSERT_TRUE(policy) << name_of(member) << " is left out of a job that is not elastic";
    EXPECT_EQ(member.role, kWorker) << "has a number of its own";
    const WallTime since = before.world_awaited_since.value_or(seen.wall_now);
    EXPECT_TRUE(is_as_wanted || after(since, policy->shrink_after_seconds) <= seen.wall_now)
        << "was not waited for";
    // A member of the last world may have told only the former leader that it waits.
    const bool was_seated = known != nullptr && known->uid == member.uid && known->has_been_in_world;
    const bool is_heard = std::ranges::any_of(
        seen.processes, [&](const auto& one) { return one.identity.member_uid == member.uid; });
    const bool runs = std::ranges::any_of(seen.pods, [&](const auto& pod) {
      return pod.uid == member.uid && pod.phase == api::PodPhase::kRunning && !pod.is_deleting;
    });
    EXPECT_TRUE(!was_seated || is_heard || !runs ||
                world_.now() - seen.listening_since >=
                    std::chrono::seconds(seen.job.spec.disruption_policy.suspect_after_seconds))
        << name_of(member) << " is left out by an operator that has just begun to listen";
  }
  if (seen.job.spec.is_suspended || status.suspending_since) return;
  // A process that is quiet before its first world does not join before it is heard again.
  const Duration limit = std::chrono::seconds(seen.job.spec.disruption_policy.suspect_after_seconds);
  const auto is_quiet = [&](const auto& member) {
    return std::ranges::any_of(seen.processes, [&](const auto& process) {
      const Duration silence = world_.now() - std::max(process.last_heard, seen.listening_since);
      return process.identity.member_uid == member.uid && process.join_request && silence >= limit;
    });
  };
  // A late beat of an earlier start hides that the process waits, until it asks again.
  const auto is_hidden = [&](const auto& member) {
    return std::ranges::any_of(seen.processes, [&](const auto& process) {
      return process.identity.member_uid == member.uid && !process.join_request;
    });
  };
  const bool may_grow = policy && status.world_formed_at && !is_new && status.is_world_formed &&
                        after(*status.world_formed_at, policy->grow_cooldown_seconds) <= seen.wall_now;
  for (const auto& member : status.members) {
    const bool is_waiting = member.is_absent && world_.wait_alone_in(member.uid) &&
                            !world_.is_noticed(member.node) && !is_quiet(member) && !is_hidden(member);
    EXPECT_TRUE(!may_grow || !is_waiting || decision.announcement.hand_over)
        << name_of(member) << " is ready, and nobody lets it in";
  }
  if (!decision.announcement.hand_over) return;
  const bool is_successor_there = std::any_of(
      status.members.begin(), status.members.end(),
      [&](const auto& member) { return !member.is_absent && world_.all_wait_in(member.successor_uid); });
  if (is_successor_there) return;
  ASSERT_TRUE(policy && status.world_formed_at) << "hands over to no successor";
  EXPECT_LE(after(*status.world_formed_at, policy->grow_cooldown_seconds), seen.wall_now) << "grows too soon";
}

// No member is late, and no world stalls, for an operator to which they could not send messages yet, or
// cannot now: the world may make steps that are not reported. No world stalls that moved within the limit by
// the clock that does not jump. The messages that the operator received count, not the world's state: a
// process that is cut off may have had no way to its seats.
void Laws::check_deadlines(const Observation& seen, const Decision& decision) const {
  const double listened = seconds(world_.now() - seen.listening_since);
  const auto& scenario = world_.scenario();
  for (const auto& action : decision.actions) {
    const auto* event = std::get_if<core::EmitEvent>(&action);
    if (event == nullptr || event->reason != "MemberLost") continue;
    const auto says = [&](const char* words) { return event->message.find(words) != std::string::npos; };
    if (says("sent no message within")) {
      const double limit = std::min(scenario.start_deadline_seconds, 10 * scenario.suspect_after_seconds);
      EXPECT_GE(listened, limit) << event->message << ", says an operator that has just begun to listen";
      const bool is_excused = says("no process of its job did") || says("as far as this operator knows");
      EXPECT_TRUE(is_excused || listened >= scenario.start_deadline_seconds)
          << event->message << ", and could have spoken before";
    }
    if (!says("made no step for")) continue;
    EXPECT_GE(listened, scenario.suspect_after_seconds) << event->message;
    EXPECT_TRUE(is_heard_whole(seen, world_.now()))
        << event->message << ", and this operator does not hear it";
    const auto moved = world_.move_heard_at(seen.job.status.attempt);
    ASSERT_TRUE(moved) << event->message << ", and this operator knows nothing of it";
    EXPECT_GE(seconds(world_.now() - *moved), seen.job.spec.progress_deadline_seconds)
        << event->message << ", and was heard to move";
  }
}

// The job's time runs while it is not suspended, and ends the job.
void Laws::check_duration(const Observation& seen, const Decision& decision) const {
  const std::uint32_t limit = world_.scenario().max_duration_seconds;
  const Duration awake = awake_ + (awake_since_ ? world_.now() - *awake_since_ : Duration(0));
  const auto& status = decision.status;
  const bool has_ended_in_time =
      status.phase == api::JobPhase::kFailed && status.message.starts_with("maxDurationSeconds");
  EXPECT_TRUE(!has_ended_in_time || (limit > 0 && seconds(awake) >= limit)) << "its time was not over";
  if (limit == 0 || api::is_over(status.phase) || world_.job().spec.is_suspended) return;
  // Each suspension cuts off a part of a second.
  if (seconds(awake) < limit + 1.0 + rests_) return;
  ASSERT_TRUE(status.suspending_since) << "its time is over and it goes on";
  EXPECT_TRUE(!is_all_heard(seen, status) || world_.wall_now() < end_of_saving(seen, status))
      << "is waited for without end";
}

}  // namespace ratoon::sim
