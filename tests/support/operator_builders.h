// Builders of the facts for the operator's core: a job, its pods, the messages of its processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "operator/core/decision.h"
#include "operator/core/observation.h"
#include "tests/support/builders.h"

namespace ratoon::test {

inline Timestamp at_seconds(double s) {
  return {from_seconds(s)};
}

constexpr WallTime wall(int at) {
  return {std::chrono::seconds(at)};
}

// Events of one kind, in their order.
template <class Action>
std::vector<Action> only(const std::vector<core::Action>& actions) {
  std::vector<Action> found;
  for (const auto& action : actions)
    if (const auto* one = std::get_if<Action>(&action)) found.push_back(*one);
  return found;
}

template <class Action>
std::vector<Action> only(const core::Decision& decision) {
  return only<Action>(decision.actions);
}

inline std::vector<std::string> names_of(const std::vector<api::NodeToAvoid>& nodes) {
  std::vector<std::string> names;
  for (const auto& node : nodes) names.push_back(node.name);
  return names;
}

// A job that runs: role worker, one process a member, attempt 1 formed, every member at incarnation 0 with
// its pod.
inline api::TrainingJob job(std::uint32_t members = 2) {
  api::TrainingJob job;
  job.meta.name = job_key().name;
  job.spec.num_nodes = members;
  job.spec.roles.push_back({.name = "worker", .replicas = {}, .command = {"train"}, .environment = {}});
  job.status.phase = api::JobPhase::kRunning;
  job.status.attempt = Attempt(1);
  job.status.is_world_formed = true;
  job.status.active_since = WallTime{};
  job.status.world_size = members;
  for (std::uint32_t i = 0; i < members; ++i) {
    job.status.members.push_back({.role = "worker",
                                  .index = i,
                                  .incarnation = 0,
                                  .uid = uid_of(i),
                                  .node = "node-" + std::to_string(i + 1)});
  }
  return job;
}

inline api::TrainingJob new_job(std::uint32_t members = 2) {
  api::TrainingJob fresh = job(members);
  fresh.status = {};
  return fresh;
}

inline api::Pod pod(std::uint32_t index, std::uint32_t incarnation = 0) {
  return {.name = member_name(job_key(), "worker", index, incarnation),
          .uid = uid_of(index, incarnation),
          .role = "worker",
          .index = index,
          .incarnation = incarnation,
          .node = "node-" + std::to_string(index + 1),
          .phase = api::PodPhase::kRunning};
}

inline api::Pod ended_pod(std::uint32_t index, int exit_code, std::uint32_t incarnation = 0) {
  api::Pod ended = pod(index, incarnation);
  ended.phase = exit_code == 0 ? api::PodPhase::kSucceeded : api::PodPhase::kFailed;
  ended.exit_code = exit_code;
  return ended;
}

inline api::ProcessFacts heard(ProcessIdentity who, double at = 0) {
  return {.identity = std::move(who), .last_heard = at_seconds(at)};
}

inline api::ProcessFacts waiting(ProcessIdentity who, std::uint64_t left_attempt = 0,
                                 std::vector<InventoryEntry> inventory = {}, double at = 0) {
  api::ProcessFacts facts = heard(who, at);
  facts.join_request = join_request(std::move(who), left_attempt, std::move(inventory));
  facts.join_request->has_been_in_world = left_attempt > 0;
  facts.checkpoints_listed_at = facts.last_heard;
  return facts;
}

inline api::ProcessFacts done(ProcessIdentity who) {
  api::ProcessFacts facts = heard(std::move(who));
  facts.is_completed = true;
  return facts;
}

inline api::AssignedProcess seat(ProcessIdentity who, std::uint32_t rank, std::uint64_t attempt = 1,
                                 std::uint32_t world_size = 2) {
  return {.process = std::move(who),
          .assignment = {.attempt = Attempt(attempt),
                         .rank = Rank(rank),
                         .world_size = world_size,
                         .rendezvous = "127.0.0.1:40000"}};
}

// All is well: each member's pod runs and its process trains in the world of the job's attempt.
inline core::Observation running(api::TrainingJob job) {
  core::Observation seen{.job = std::move(job)};
  for (const auto& member : seen.job.status.members) {
    seen.pods.push_back(pod(member.index, member.incarnation));
    seen.processes.push_back(heard(process(member.index, member.incarnation)));
    seen.world.push_back(seat(process(member.index, member.incarnation), member.index,
                              seen.job.status.attempt.value(), seen.job.status.world_size));
  }
  return seen;
}

// Acts as the core's caller does: the decision is stored, and the created pods run on that node.
inline void store(const core::Decision& decision, const std::string& node, core::Observation& seen) {
  seen.job.status = decision.status;
  seen.world = decision.announcement.world;
  seen.recovery = decision.recovery;
  seen.checkpoint_lists_valid_from = decision.announcement.checkpoint_lists_valid_from;
  for (const auto& action : only<core::CreatePod>(decision)) {
    seen.pods.push_back(pod(action.pod.index, action.pod.incarnation));
    seen.pods.back().node = node;
  }
}

}  // namespace ratoon::test
