// The network between nodes, and what processes find out about it while they wait.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "tests/property/operator/simulated_world.h"

namespace ratoon::sim {
namespace {

// Before a process that waits names a peer. Less than it may stand in a step, as in reality.
constexpr Duration kProbes = std::chrono::seconds(2);
// A beat is as old as a silence may be, and a complaint waits for others.
constexpr Duration kRemembered = std::chrono::seconds(40);

}  // namespace

void World::cut_link() {
  if (nodes_.size() < 2) return;
  const auto name_of_drawn = [&](const char* what) { return draw_node(what).node.name; };
  LinkCut cut{.from = name_of_drawn("cut-from"), .to = name_of_drawn("cut-to"), .until = now_};
  if (cut.to == cut.from) cut.to.clear();
  cut.is_one_way = moves_.percent("cut-one-way", 25);
  cut.until = now_ + moves_.ticks("link-cut-for", 1, 161);
  std::erase_if(link_cuts_, [&](const LinkCut& old) { return old.until + kRemembered < now_; });
  link_cuts_.push_back(std::move(cut));
  ++links_cut_;
}

bool World::is_link_cut(const std::string& here, const std::string& there) const {
  return std::ranges::any_of(link_cuts_,
                             [&](const LinkCut& cut) { return now_ < cut.until && cut.blocks(here, there); });
}

bool World::is_any_link_cut_in(Attempt attempt) const {
  if (std::ranges::none_of(link_cuts_, [&](const LinkCut& cut) { return now_ < cut.until; })) return false;
  const auto nodes = nodes_in(attempt);
  return std::ranges::any_of(nodes, [&](const std::string& here) {
    return std::ranges::any_of(nodes, [&](const std::string& there) { return is_link_cut(here, there); });
  });
}

bool World::was_cut_off(const std::string& node) const {
  return std::ranges::any_of(link_cuts_, [&](const LinkCut& cut) {
    return now_ < cut.until + kRemembered && (cut.from == node || cut.to == node || cut.to.empty());
  });
}

// The system of a node answers for a process that is frozen, but for none that is gone.
bool World::is_reachable_from(const Agent& agent, const PeerAddress& peer) const {
  const bool lives = std::ranges::any_of(agents_, [&](const auto& other) {
    return other->pod_uid == peer.member_uid && other->state != Agent::State::kGone;
  });
  const auto pod = pods_.find(peer.member_uid);
  if (!lives || pod == pods_.end()) return lives;  // what ran in a pod that vanished runs on
  return !is_on_dead_node(pod->second) && !is_link_cut(node_of(agent), pod->second.pod.node);
}

std::vector<std::string> World::probe_peers(Agent& agent) const {
  std::vector<std::string> unreachable;
  const bool waits = agent.hangs_in.value_or(ProcessPhase::kCollective) == ProcessPhase::kCollective;
  if (waits && now_ - agent.moved_at >= kProbes)
    for (const auto& peer : agent.assignment.peers)
      if (!is_reachable_from(agent, peer)) unreachable.push_back(peer.member_uid);
  // A wait that a cut explained is measured anew.
  if (std::exchange(agent.names_peers, !unreachable.empty()) && unreachable.empty()) agent.moved_at = now_;
  return unreachable;
}

}  // namespace ratoon::sim
