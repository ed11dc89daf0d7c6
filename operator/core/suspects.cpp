#include "operator/core/suspects.h"

#include <algorithm>
#include <set>

#include "operator/core/notice.h"

namespace ratoon::core {
namespace {

constexpr std::size_t kSuspectsMax = 64;  // what the status can hold

}  // namespace

std::vector<api::SuspectNode> update_suspects(const Observation& seen, const std::vector<Loss>& losses) {
  std::vector<api::SuspectNode> suspects = seen.job.status.suspect_nodes;
  const Duration pause = std::chrono::seconds(seen.job.spec.disruption_policy.avoid_node_seconds);
  std::erase_if(suspects, [&](const auto& node) { return node.until <= seen.wall_now; });
  for (const auto& loss : losses) {
    // A program that failed, or a pod that somebody deleted, says nothing about its node; silence does.
    if (!loss.is_silent || loss.member.node.empty() || pause.count() == 0) continue;
    std::erase_if(suspects, [&](const auto& node) { return node.name == loss.member.node; });
    suspects.push_back({.name = loss.member.node,
                        .reason = loss.reason,
                        .until = WallTime{seen.wall_now.since_epoch + pause}});
  }
  if (suspects.size() > kSuspectsMax)
    suspects.erase(suspects.begin(), suspects.end() - static_cast<std::ptrdiff_t>(kSuspectsMax));
  return suspects;
}

std::vector<std::string> nodes_to_avoid(const Observation& seen,
                                        const std::vector<api::SuspectNode>& suspects) {
  std::set<std::string> names;
  for (const auto& suspect : suspects) names.insert(suspect.name);
  for (const auto& node : seen.nodes) {
    if (!find_notice(node, seen.job.spec.disruption_policy).empty()) names.insert(node.name);
  }
  return {names.begin(), names.end()};
}

}  // namespace ratoon::core
