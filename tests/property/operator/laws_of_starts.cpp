// Laws about members that start slowly, as on a machine that many starts overload.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "tests/property/operator/laws.h"

namespace ratoon::sim {

// A member that met no world yet has its start deadline alone: no member counts as silent or late before. A
// node that is lost, or on which another member fell silent, ends a starting member like any other.
void Laws::check_slow_starts(const core::Observation& seen, const core::Decision& decision) const {
  const auto is_in_trouble = [&](const std::string& name) {
    const auto is_it = [&](const auto& node) { return node.name == name; };
    return world_.is_node_dead(name) ||
           std::ranges::any_of(seen.nodes, [&](const auto& node) { return node.is_lost && is_it(node); }) ||
           std::ranges::any_of(seen.job.status.suspect_nodes, is_it);
  };
  for (const auto& action : decision.actions) {
    const auto* event = std::get_if<core::EmitEvent>(&action);
    if (event == nullptr || event->reason != "MemberLost") continue;
    const bool is_silent = event->message.ends_with(": silent for too long");
    // A wall clock that jumps makes the time since a start longer.
    const bool is_late = event->message.find("sent no message within") != std::string::npos &&
                         !world_.scenario().policies.has_wall_jumps;
    const std::string name = event->message.substr(0, event->message.find(": "));
    for (const auto& pod : seen.pods) {
      if (pod.name != name || pod.node.empty() || is_in_trouble(pod.node)) continue;
      // A seat was announced to it, in a world that may be over: from then on it is one that trains.
      const bool has_seat = std::ranges::any_of(seen.processes, [&](const api::ProcessFacts& process) {
        return process.identity.member_uid == pod.uid && process.has_been_in_world;
      });
      EXPECT_FALSE(is_silent && !has_seat && world_.starts_in_time(pod.uid))
          << event->message << ", and is still starting\n"
          << world_.describe();
      EXPECT_FALSE(is_late && world_.has_just_begun(pod.uid)) << event->message << ", and has just begun\n"
                                                              << world_.describe();
    }
  }
}

}  // namespace ratoon::sim
