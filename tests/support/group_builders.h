// A group of programs without the agent, as the operator's core observes it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "operator/core/reconcile.h"
#include "tests/support/operator_builders.h"

namespace ratoon::test {

inline constexpr std::uint32_t kGroupMembers = 3;

inline api::TrainingJob group_job() {
  auto group = job(kGroupMembers);
  group.spec.roles[0].has_agent = false;
  group.status.world_formed_at = WallTime{};
  return group;
}

// All pods run, and no program ever sends a message.
inline core::Observation running_group() {
  auto seen = running(group_job());
  seen.processes.clear();
  seen.world.clear();
  for (auto& pod : seen.pods) pod.address = "10.0.0." + std::to_string(pod.index + 1);
  seen.wall_now = wall(10);
  return seen;
}

inline core::Decision decide(const core::Observation& seen) {
  return core::reconcile(seen, at_seconds(10));
}

// Acts as the core's caller does; deleted pods are gone in the next observation.
inline void follow(const core::Decision& decision, core::Observation& seen) {
  store(decision, "node-9", seen);
  for (const auto& action : only<core::DeletePod>(decision))
    std::erase_if(seen.pods, [&](const api::Pod& pod) { return pod.uid == action.uid; });
}

inline std::vector<std::uint32_t> incarnations(const api::TrainingJobStatus& status) {
  std::vector<std::uint32_t> all;
  for (const auto& member : status.members) all.push_back(member.incarnation);
  return all;
}

}  // namespace ratoon::test
