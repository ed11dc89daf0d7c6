// Laws about members that cannot reach each other.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "tests/property/operator/laws.h"

namespace ratoon::sim {
namespace {

using core::Decision;
using core::Observation;

constexpr const char* kUnreachable = ": has no connection to ";

}  // namespace

bool is_unreachable(const core::EmitEvent& event) {
  return event.reason == "MemberLost" && event.message.find(kUnreachable) != std::string::npos;
}

bool is_any_unreachable(const Decision& decision) {
  return std::ranges::any_of(decision.actions, [](const core::Action& action) {
    const auto* event = std::get_if<core::EmitEvent>(&action);
    return event != nullptr && is_unreachable(*event);
  });
}

// One member at a time is replaced because of a cut, and it is at an end of one. It stood in the world, whose
// program is not to blame, and its node is avoided.
void Laws::check_unreachable(const Observation& seen, const Decision& decision) const {
  std::uint32_t found = 0;
  for (const auto& action : decision.actions) {
    const auto* event = std::get_if<core::EmitEvent>(&action);
    if (event == nullptr || !is_unreachable(*event)) continue;
    ++found;
    ++tally_.unreachable;
    EXPECT_TRUE(seen.job.status.is_world_formed) << event->message;
    const std::string name = event->message.substr(0, event->message.find(": "));
    const auto pod = std::ranges::find(seen.pods, name, &api::Pod::name);
    ASSERT_NE(pod, seen.pods.end()) << event->message;
    const auto pods = world_.pods();
    const auto there = std::ranges::find(pods, pod->uid, &api::Pod::uid);
    const std::string node = there == pods.end() ? pod->node : there->node;
    // Processes that have saved for a suspension are gone: to the others that looks like a cut.
    EXPECT_TRUE(world_.was_cut_off(node) || seen.job.spec.is_suspended) << event->message << "\n"
                                                                        << world_.describe();
    // The operator's copy may not show yet where the pod is.
    if (seen.job.spec.disruption_policy.avoid_node_seconds == 0 || pod->node.empty()) continue;
    const auto& suspects = decision.status.suspect_nodes;
    const auto suspect = std::ranges::find(suspects, pod->node, &api::SuspectNode::name);
    ASSERT_NE(suspect, suspects.end()) << name << " is made again on " << pod->node;
    EXPECT_TRUE(suspect->is_unreachable);
  }
  EXPECT_LE(found, 1U) << "a cut has two ends, and one is replaced";
}

}  // namespace ratoon::sim
