// Laws about the remains of a job that is over or suspended, about deletions, and about messages for people.
#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "operator/core/world/release_nodes.h"
#include "tests/property/operator/laws.h"
#include "tests/property/operator/recount.h"

namespace ratoon::sim {
namespace {

using core::Decision;
using core::Observation;

std::set<std::string> deleted_in(const Decision& decision) {
  std::set<std::string> uids;
  for (const auto& action : decision.actions)
    if (const auto* gone = std::get_if<core::DeletePod>(&action)) uids.insert(gone->uid);
  return uids;
}

template <class Action>
const Action* find_in(const Decision& decision) {
  for (const auto& action : decision.actions)
    if (const auto* found = std::get_if<Action>(&action)) return found;
  return nullptr;
}

WallTime seconds_later(WallTime moment, std::uint32_t seconds) {
  return {moment.since_epoch + std::chrono::seconds(seconds)};
}

}  // namespace

// For a job that is over: pods as its policy says, the job itself when its time is up, and no other change.
void Laws::check_end(const Observation& seen, const Decision& decision) const {
  const auto& status = decision.status;
  EXPECT_EQ(status.completed_at.has_value(), api::is_over(status.phase));
  if (!api::is_over(status.phase)) {
    EXPECT_EQ(find_in<core::DeleteJob>(decision), nullptr) << "is deleted before its end";
    return;
  }
  EXPECT_EQ(deleted_in(decision), pods_to_go(seen, status)) << "cleans up in another way than it was told";
  EXPECT_EQ(find_in<core::CreatePod>(decision), nullptr);
  EXPECT_TRUE(decision.announcement.stop) << "members are not told that it is over";
  const auto& ttl = seen.job.spec.ttl_seconds_after_finished;
  const bool is_stored = api::is_over(seen.job.status.phase);
  const bool is_expired =
      is_stored && ttl && seconds_later(ended_at_.value_or(seen.wall_now), *ttl) <= seen.wall_now;
  const auto* gone = find_in<core::DeleteJob>(decision);
  EXPECT_EQ(gone != nullptr, is_expired) << "its time to live counts from its end";
  EXPECT_TRUE(gone == nullptr || gone->uid == seen.job.meta.uid);
}

// Incarnations in the roster keep their pods, unless the job is over or suspended.
void Laws::check_deletions(const Observation& seen, const Decision& decision) const {
  if (api::is_over(decision.status.phase)) return;
  for (const auto& uid : deleted_in(decision)) {
    const auto pod =
        std::find_if(seen.pods.begin(), seen.pods.end(), [&](const auto& p) { return p.uid == uid; });
    ASSERT_NE(pod, seen.pods.end()) << "deletes what it has not seen";
    for (const auto& member : incarnations_of(decision.status.members)) {
      const bool leaves_no_pod = seen.job.spec.is_suspended || core::is_released(decision.status);
      if (member.is_completed && leaves_no_pod) continue;
      EXPECT_FALSE(member.uid == uid || (member.uid.empty() && name_of(member) == pod->name))
          << pod->name << " is still wanted";
    }
  }
}

// While the job is suspended no failure is counted and its attempt stays.
void Laws::check_rest(const Observation& seen, const Decision& decision) const {
  const auto& before = seen.job.status;
  const auto& status = decision.status;
  if (before.phase != api::JobPhase::kSuspended || status.phase != api::JobPhase::kSuspended) return;
  EXPECT_EQ(before.attempt, status.attempt);
  EXPECT_EQ(before.restarts, status.restarts) << "whom nobody wants is not lost";
  EXPECT_EQ(before.last_failure, status.last_failure);
}

// In a pod with some finished processes, the others are awaited as long as they send messages, whichever
// operator received the first messages.
void Laws::check_finishing(const Observation& seen, const Decision& decision) const {
  const Duration limit = std::chrono::seconds(seen.job.spec.disruption_policy.suspect_after_seconds);
  const auto speaks = [&](const api::Pod& pod, std::uint32_t local_rank) {
    return std::ranges::any_of(seen.processes, [&](const auto& process) {
      return process.identity.member_uid == pod.uid && process.identity.local_rank == local_rank &&
             world_.now() - std::max(process.last_heard, seen.listening_since) < limit;
    });
  };
  const auto lost = lost_in(decision);
  for (const auto& pod : seen.pods) {
    if (!lost.contains(pod.name) || pod.has_ended() || pod.is_deleting) continue;
    std::uint32_t done = 0;
    std::uint32_t speaking = 0;
    for (std::uint32_t local_rank = 0; local_rank < seen.job.spec.processes_per_node; ++local_rank) {
      if (world_.is_done(pod.uid, local_rank))
        ++done;
      else if (speaks(pod, local_rank))
        ++speaking;
    }
    const bool is_sound = done > 0 && speaking > 0 && done + speaking == seen.job.spec.processes_per_node;
    EXPECT_FALSE(is_sound && !world_.has_hung(seen.job.status.attempt, pod.uid))
        << pod.name << " is lost, of which " << done << " are done and the others speak\n"
        << world_.describe();
  }
}

// Conditions, times and numbers are another reading of the same facts.
void Laws::check_told(const Observation& seen, const Decision& decision) const {
  const auto& before = seen.job.status;
  const auto& status = decision.status;
  EXPECT_EQ(status.observed_generation, seen.job.meta.generation);
  EXPECT_EQ(status.world_formed_at.has_value(), status.is_world_formed);
  EXPECT_TRUE(!status.world_awaited_since || !status.is_world_formed);
  const auto& world = decision.announcement.world;
  EXPECT_TRUE(world.empty() || world.size() == status.world_size) << "another size than is told";
  std::uint32_t replicas = 0;
  for (const auto& member : status.members)
    if (member.role == kWorker && !member.uid.empty()) ++replicas;
  EXPECT_EQ(status.replicas, replicas) << "kubectl scale sees another number";
  for (const auto& condition : status.conditions) {
    const bool is_of_phase = condition.type != "Scheduled";
    EXPECT_TRUE(!is_of_phase || condition.is_true == (condition.type == api::name_of(status.phase)))
        << condition.type;
    for (const auto& known : before.conditions) {
      if (known.type != condition.type || known.is_true != condition.is_true) continue;
      EXPECT_EQ(known.since, condition.since) << condition.type << " did not change";
    }
  }
}

}  // namespace ratoon::sim
