// Laws about nodes that a job frees because no node takes its other members.
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "operator/core/world/release_nodes.h"
#include "tests/property/operator/laws.h"
#include "tests/property/operator/recount.h"

namespace ratoon::sim {
namespace {

using core::Decision;
using core::Observation;

bool is_there(const api::Pod& pod) {
  return !pod.has_ended() || pod.has_running_sidecars;
}

bool is_any_there(const std::vector<api::Pod>& pods) {
  return std::ranges::any_of(pods, is_there);
}

// Whether so many members as a world needs at least have a node or are done, without those that are lost.
bool are_enough_placed(const Observation& seen, const std::vector<api::Pod>& pods,
                       const std::set<std::string>& lost) {
  return std::ranges::all_of(seen.job.spec.roles, [&](const api::Role& role) {
    const auto& elastic = seen.job.spec.elastic_policy;
    const std::uint32_t needed =
        role.replicas.value_or(elastic ? elastic->members_min : seen.job.spec.num_nodes);
    const auto placed = std::ranges::count_if(seen.job.status.members, [&](const auto& member) {
      const bool has_node = std::ranges::any_of(pods, [&](const api::Pod& pod) {
        return pod.name == name_of(member) && !pod.node.empty() && !pod.has_ended() && !pod.is_deleting;
      });
      const bool is_lost = lost.contains(name_of(member));
      return member.role == role.name && ((has_node && !is_lost) || is_known_done(seen, member));
    });
    return std::cmp_greater_equal(placed, needed);
  });
}

}  // namespace

// A job that freed its nodes has no pod and no world.
void Laws::check_released(const Observation& seen, const Decision& decision) {
  const auto& wait = decision.status.capacity_wait;
  EXPECT_TRUE(!wait || seen.job.spec.release_after_seconds > 0) << "the job keeps its nodes";
  EXPECT_TRUE(!wait || !decision.status.is_world_formed) << "a world trains, and the job waits for nodes";
  EXPECT_TRUE(!wait || !seen.job.spec.is_suspended);
  const bool was = core::is_released(seen.job.status);
  const bool is = core::is_released(decision.status);
  if (is) {
    EXPECT_EQ(decision.status.ledger.part, api::TimeLedgerPart::kWaitingForCapacity);
    std::set<std::string> deleted;
    for (const auto& action : decision.actions) {
      EXPECT_FALSE(std::holds_alternative<core::CreatePod>(action)) << "asks for nodes during its pause";
      if (const auto* gone = std::get_if<core::DeletePod>(&action)) deleted.insert(gone->uid);
    }
    for (const auto& pod : seen.pods)
      EXPECT_TRUE(!is_there(pod) || pod.is_deleting || deleted.contains(pod.uid)) << pod.name << " is left";
  }
  if (is && !was) check_release(seen, decision);
  if (was && !seen.job.spec.is_suspended) check_request(seen, decision);
}

// A job frees nodes only if it has waited for so long, cannot form a world with the members that have one,
// and loses no checkpoint that was reported durable. The pauses grow.
void Laws::check_release(const Observation& seen, const Decision& decision) {
  ++tally_.releases;
  const auto& before = seen.job.status;
  const Duration limit = std::chrono::seconds(seen.job.spec.release_after_seconds);
  const auto lost = lost_in(decision);
  EXPECT_FALSE(before.is_world_formed) << "a world trained until now";
  ASSERT_TRUE(before.world_awaited_since) << "the job did not wait for a world";
  EXPECT_GE(seen.wall_now.since_epoch - before.world_awaited_since->since_epoch, limit) << "is too impatient";
  EXPECT_FALSE(are_enough_placed(seen, seen.pods, lost)) << "has the nodes that it needs\n"
                                                         << world_.describe();
  EXPECT_TRUE(world_.scenario().policies.has_late_watches || !are_enough_placed(seen, world_.pods(), lost))
      << "has the nodes that it needs\n"
      << world_.describe();
  // A pod that the copy shows without a node has one if its process was heard.
  const auto has_node = [](const api::Pod& pod) { return !pod.node.empty(); };
  EXPECT_TRUE(std::ranges::any_of(seen.pods, has_node) || std::ranges::any_of(world_.pods(), has_node))
      << "holds no node";
  EXPECT_TRUE(std::ranges::any_of(seen.pods, [](const auto& pod) { return !pod.unplaced_reason.empty(); }))
      << "no scheduler told it of a lack";
  if (const auto& last = before.last_checkpoint) {
    const auto& all = world_.storage().all();
    const auto saved = all.find({last->attempt, last->step});
    EXPECT_TRUE(saved == all.end() || !saved->second.is_sound() || saved->second.is_shared)
        << "the checkpoint of step " << last->step.value() << " goes with the nodes";
  }
  constexpr std::uint32_t kGrowsUntil = 4;
  const auto& wait = *decision.status.capacity_wait;
  const Duration pause = wait.retry_at->since_epoch - seen.wall_now.since_epoch;
  EXPECT_GE(pause, limit / 2);
  EXPECT_LE(pause, limit * 8) << "pauses without end";
  const auto known = before.capacity_wait ? before.capacity_wait->release_count : 0;
  EXPECT_EQ(wait.release_count, known + 1);
  // A release that was not stored is decided again, with the same pause.
  EXPECT_TRUE(wait.release_count == 1 || wait.release_count > kGrowsUntil || pause >= pause_)
      << "the pause does not grow";
  pause_ = pause;
}

// When its pause is over, or its spec was changed, the job asks for nodes as soon as its former pods are
// gone.
void Laws::check_request(const Observation& seen, const Decision& decision) const {
  const bool is_changed = seen.job.meta.generation != seen.job.status.observed_generation;
  const bool is_due = is_changed || *seen.job.status.capacity_wait->retry_at <= seen.wall_now;
  const bool is_there_any = is_any_there(seen.pods);
  if (core::is_released(decision.status)) {
    EXPECT_TRUE(!is_due || is_there_any) << "does not ask for nodes again";
    EXPECT_TRUE(is_due || decision.wake_at) << "no decision would end the pause";
    return;
  }
  EXPECT_TRUE(is_due) << "its pause was not over";
  EXPECT_FALSE(is_there_any) << "asks for nodes while it holds some\n" << world_.describe();
  ++tally_.requests;
  if (is_changed) ++tally_.hurried;
}

}  // namespace ratoon::sim
