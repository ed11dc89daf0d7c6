// Faults, as the dice say.
#include <algorithm>

#include "tests/property/operator/simulated_world.h"

namespace ratoon::sim {

void World::make_trouble() {
  if (scenario_.loses_operator && dice_.percent(2)) lose_operator();
  if (scenario_.has_notice && dice_.percent(3)) give_notice();
  if (scenario_.is_suspended_at_times && dice_.percent(2)) suspend(!job_.spec.is_suspended);
  if (scenario_.policies.is_resized && dice_.percent(10)) resize();
  if (!scenario_.has_losses) return;
  if (scenario_.policies.deletes_pods && dice_.percent(3)) delete_somebody();
  if (scenario_.policies.platform_ends_pods && dice_.percent(3)) end_by_platform();
  if (scenario_.policies.has_late_watches && dice_.percent(3)) behind_until_ = now_ + dice_.ticks(1, 40);
  if (dice_.percent(2)) listening_since_ = now_;  // the operator stood still for a moment
  if (dice_.percent(2)) {                         // the network between the operator and all agents
    const Duration length = dice_.ticks(1, 121);
    for (auto& agent : agents_) agent->cut_until = now_ + length;
  }
  if (scenario_.policies.zones > 0 && dice_.percent(2)) cut_zone();
  if (dice_.percent(1) && !nodes_.empty()) {
    auto& node = std::next(nodes_.begin(), static_cast<std::ptrdiff_t>(dice_.below(nodes_.size())))->second;
    if (!node.is_dead) kill_node(node);
  }
  for (auto& agent : agents_) {
    if (!dice_.percent(3)) continue;
    if (scenario_.has_agent)
      trouble_for(*agent);
    else
      trouble_for_program(*agent);
  }
  if (dice_.percent(1) && !pods_.empty()) lose_pod();
}

// The network between the operator and a whole zone.
void World::cut_zone() {
  const std::string zone = "zone-" + std::to_string(dice_.below(scenario_.policies.zones));
  const Duration length = dice_.ticks(1, 81);
  for (auto& agent : agents_) {
    const auto pod = pods_.find(agent->pod_uid);
    if (pod == pods_.end()) continue;
    const auto node = nodes_.find(pod->second.pod.node);
    if (node != nodes_.end() && node->second.node.zone == zone) agent->cut_until = now_ + length;
  }
}

// The object vanishes; what ran there may run on, if it can be fenced.
void World::lose_pod() {
  const auto victim = std::next(pods_.begin(), static_cast<std::ptrdiff_t>(dice_.below(pods_.size())));
  if (!scenario_.has_agent || dice_.percent(50)) end_processes(victim->first);
  const SimPod lost = victim->second;
  pods_.erase(victim);
  if (!scenario_.policies.remakes_pods || is_job_gone_ || !dice_.percent(50)) return;
  const api::Pod& pod = lost.pod;
  create_pod({.pod = {.name = pod.name, .role = pod.role, .index = pod.index, .incarnation = pod.incarnation},
              .avoid_nodes = lost.avoid_nodes});
  pods_seen_.erase("uid-" + std::to_string(created_));  // no answer to the operator that is there
}

void World::trouble_for(Agent& agent) {
  switch (dice_.below(7)) {
    case 0:
      agent.frozen_until = now_ + dice_.ticks(1, 31);
      break;
    case 1:
      agent.cut_until = now_ + dice_.ticks(1, 61);
      break;
    case 2:
      leave(agent, dice_.pick({137, 143, 80, 81}));
      break;
    case 3:
      end_processes(agent.pod_uid);  // exit code 0 is the pod's only once all processes have left
      leave(agent, dice_.pick({1, 134, 139, 84, 0}));
      break;
    case 4:  // the launcher starts the process again in the same pod
      done_.erase({agent.pod_uid, agent.identity.local_rank});
      agent.identity.start = "start-" + std::to_string(++starts_);
      leave_world(agent);
      agent.left_attempt = Attempt(0);
      agent.left_step = agent.step = 0;
      agent.committed.reset();
      agent.hangs_in.reset();
      break;
    case 5:
      // Behind the last step nobody says how long it may take.
      if (agent.state != Agent::State::kTraining || agent.step >= scenario_.total_steps) break;
      agent.hangs_in = dice_.pick({ProcessPhase::kData, ProcessPhase::kCompute, ProcessPhase::kCollective});
      agent.told_to_leave = {};
      hung_.emplace(agent.assignment.attempt, agent.pod_uid);
      break;
    default:
      if (scenario_.has_fatal_exits && dice_.percent(20)) {
        leave(agent, dice_.pick({82, 83}));
      }
  }
}

void World::give_notice() {
  if (nodes_.empty()) return;
  auto& node = std::next(nodes_.begin(), static_cast<std::ptrdiff_t>(dice_.below(nodes_.size())))->second;
  if (node.is_dead || !node.takes_pods()) return;
  switch (dice_.below(4)) {
    case 0:
      node.node.taints.push_back({.key = "karpenter.sh/disrupted", .effect = "NoSchedule"});
      break;
    case 1:
      node.node.is_unschedulable = true;
      break;
    case 2:
      node.node.taints.push_back({.key = "aws-node-termination-handler/spot-itn", .effect = "NoSchedule"});
      if (dice_.percent(50)) node.node.taints.back().added_at = wall_now();
      break;
    default:
      node.node.is_deleting = true;
  }
  if (!node.node.is_deleting && dice_.percent(30)) node.retracted_at = now_ + dice_.ticks(1, 60);
  if (node.node.is_deleting || dice_.percent(80)) node.dies_at = now_ + dice_.ticks(1, 80);
}

// Its process ends. What agents said and were told is forgotten, and the recovery that it watched.
void World::lose_operator() {
  ++operators_lost_;
  door_ = coordinator::Door();
  recovery_.reset();
  late_beats_.clear();
  is_open_ = false;
  down_until_ = now_ + (dice_.percent(50) ? Duration(0) : dice_.ticks(0, 30));
  behind_until_ = now_;  // who comes next lists everything first
  follow_watch();
}

// Its owner gives a job that is suspended another size, while it still saves or later; an elastic one later.
void World::resize() {
  if (!job_.spec.is_suspended || (job_.spec.elastic_policy && job_.status.is_formed)) return;
  job_.spec.num_nodes = static_cast<std::uint32_t>(1 + dice_.below(4));
  if (auto& elastic = job_.spec.elastic_policy) {
    elastic->members_min = std::min(elastic->members_min, job_.spec.num_nodes);
    if (elastic->members_max > 0) elastic->members_max = job_.spec.num_nodes + scenario_.policies.more_places;
  }
  ++job_.meta.generation;
}

}  // namespace ratoon::sim
