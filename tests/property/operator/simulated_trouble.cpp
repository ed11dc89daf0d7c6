// Faults, by the moves.
#include <algorithm>
#include <chrono>

#include "tests/property/operator/simulated_world.h"

namespace ratoon::sim {

void World::make_trouble() {
  if (scenario_.loses_operator && moves_.percent("operator-ends", 2)) lose_operator();
  if (scenario_.has_notice && moves_.percent("notice", 3)) give_notice();
  if (scenario_.is_suspended_at_times && moves_.percent("suspend", 2)) suspend(!job_.spec.is_suspended);
  if (scenario_.policies.is_resized && moves_.percent("resize", 10)) resize();
  if (scenario_.policies.release_after_seconds > 0 && moves_.percent("change-spec", 2)) change_spec();
  if (!scenario_.has_losses) return;
  // A time limit in wall time would end with the jump.
  const bool has_jumps = scenario_.policies.has_wall_jumps && scenario_.max_duration_seconds == 0;
  if (has_jumps && moves_.percent("wall-jumps", 2)) {
    wall_ahead_ = wall_ahead_ + moves_.ticks("wall-jumps-by", 20, 1200);
    listening_since_ = now_;  // the coordinator sees it by its two clocks
  }
  if (scenario_.policies.deletes_pods && moves_.percent("delete-pod", 3)) delete_somebody();
  if (scenario_.policies.platform_ends_pods && moves_.percent("platform-ends-pod", 3)) end_by_platform();
  if (scenario_.policies.has_late_watches && moves_.percent("watches-stand", 3))
    behind_until_ = now_ + moves_.ticks("watches-stand-for", 1, 40);
  if (moves_.percent("operator-stands", 2)) listening_since_ = now_;  // the operator stood still for a moment
  if (moves_.percent("cut", 2)) {  // the network between the operator and all agents
    const Duration length = moves_.ticks("cut-for", 1, 121);
    for (auto& agent : agents_) agent->cut_until = now_ + length;
  }
  if (scenario_.policies.zones > 0 && moves_.percent("cut-zone", 2)) cut_zone();
  if (scenario_.policies.cuts_links && scenario_.has_agent && moves_.percent("cut-link", 4)) cut_link();
  if (!scenario_.follows_nodes && moves_.percent("node-dies", 1) && !nodes_.empty()) {
    SimNode& node = draw_node("dies");
    if (!node.is_dead) kill_node(node);
  }
  for (auto& agent : agents_) {
    if (!moves_.percent("trouble", agent->pod_uid, 3)) continue;
    if (scenario_.has_agent)
      trouble_for(*agent);
    else
      trouble_for_program(*agent);
  }
  if (scenario_.has_damage && moves_.percent("damage", 2)) damage_checkpoint();
  if (scenario_.has_wrong_completions && moves_.percent("completes-early", 4)) complete_too_early();
  if (moves_.percent("lose-pod", 1) && !pods_.empty()) lose_pod();
}

SimNode& World::draw_node(const char* what) {
  return std::next(nodes_.begin(), static_cast<std::ptrdiff_t>(moves_.below(what, nodes_.size())))->second;
}

// Damages one of the newest checkpoints; the first rank of its world may find the damage when it reads the
// checkpoint back.
void World::damage_checkpoint() {
  std::vector<Lineage> sound;
  for (const auto& [id, saved] : storage_.all())
    if (saved.is_sound()) sound.push_back(id);
  if (sound.size() < 2) return;  // one is left
  const Lineage id = sound[sound.size() - 1 - moves_.below("damages", 2)];
  storage_.damage(id);
  if (!moves_.percent("is-read-back", 50)) return;
  for (auto& agent : agents_) {
    if (agent->state != Agent::State::kTraining || agent->assignment.rank != Rank(0)) continue;
    if (agent->assignment.attempt != id.first) continue;
    agent->damaged.push_back(storage_.entry_of(id));
    if (!agent->committed || Lineage(agent->committed->attempt, agent->committed->step) != id) continue;
    const auto before = std::ranges::find(sound, id);
    agent->committed.reset();
    if (before != sound.begin()) agent->committed = storage_.entry_of(*std::prev(before));
  }
}

// The network between the operator and a whole zone.
void World::cut_zone() {
  const std::string zone = "zone-" + std::to_string(moves_.below("zone", scenario_.policies.zones));
  const Duration length = moves_.ticks("zone-cut-for", 1, 81);
  for (auto& agent : agents_) {
    const auto pod = pods_.find(agent->pod_uid);
    if (pod == pods_.end()) continue;
    const auto node = nodes_.find(pod->second.pod.node);
    if (node != nodes_.end() && node->second.node.zone == zone) agent->cut_until = now_ + length;
  }
}

// The object vanishes; its process may run on, if it can be fenced.
void World::lose_pod() {
  const auto victim =
      std::next(pods_.begin(), static_cast<std::ptrdiff_t>(moves_.below("loses", pods_.size())));
  if (!scenario_.has_agent || moves_.percent("and-its-processes", 50)) end_processes(victim->first);
  const SimPod lost = victim->second;
  pods_.erase(victim);
  if (!scenario_.policies.remakes_pods || is_job_gone_ || !moves_.percent("made-again", 50)) return;
  const api::Pod& pod = lost.pod;
  create_pod({.pod = {.name = pod.name, .role = pod.role, .index = pod.index, .incarnation = pod.incarnation},
              .avoid_nodes = lost.avoid_nodes});
  pods_seen_.erase("uid-" + std::to_string(created_));  // no answer to the operator that is there
}

void World::trouble_for(Agent& agent) {
  switch (moves_.below("which", 7)) {
    case 0:
      agent.frozen_until = now_ + moves_.ticks("frozen-for", 1, 31);
      break;
    case 1:
      agent.cut_until = now_ + moves_.ticks("agent-cut-for", 1, 61);
      break;
    case 2:
      leave(agent, moves_.pick("leaves-with", {137, 143, 80, 81, 85, 86}));
      break;
    case 3:
      end_processes(agent.pod_uid);  // exit code 0 is the pod's only once all processes have left
      leave(agent, moves_.pick("pod-ends-with", {1, 134, 139, 84, 0}));
      break;
    case 4:  // the launcher starts the process again in the same pod
      done_.erase({agent.pod_uid, agent.identity.local_rank});
      acknowledged_.erase({agent.pod_uid, agent.identity.local_rank});
      agent.identity.start = "start-" + std::to_string(++starts_);
      leave_world(agent);
      agent.left_attempt = Attempt(0);
      agent.has_been_in_world = false;
      agent.left_step = agent.step = 0;
      agent.committed.reset();
      agent.unreadable.clear();
      agent.damaged.clear();
      agent.hangs_in.reset();
      agent.called_at.reset();
      break;
    case 5:
      // After the last step there is no limit for the duration.
      if (agent.state != Agent::State::kTraining || agent.step >= scenario_.total_steps) break;
      agent.hangs_in =
          moves_.pick("hangs-in", {ProcessPhase::kData, ProcessPhase::kCompute, ProcessPhase::kCollective});
      agent.told_to_leave = {};
      hung_.emplace(agent.assignment.attempt, agent.pod_uid);
      break;
    default:
      if (scenario_.has_fatal_exits && moves_.percent("fatal", 20)) {
        leave(agent, moves_.pick("fatal-with", {82, 83}));
      }
  }
}

void World::give_notice() {
  if (nodes_.empty()) return;
  SimNode& node = draw_node("notice-to");
  if (node.is_dead || !node.takes_pods()) return;
  node.notice.emplace();
  node.retracted_at.reset();  // of an earlier notice
  switch (moves_.below("notice-how", 4)) {
    case 0:
      node.node.taints.push_back({.key = "karpenter.sh/disrupted", .effect = "NoSchedule"});
      break;
    case 1:
      node.node.is_unschedulable = true;
      break;
    case 2:
      node.node.taints.push_back({.key = "aws-node-termination-handler/spot-itn", .effect = "NoSchedule"});
      node.notice->leaves = std::chrono::seconds(120);
      if (moves_.percent("says-when", 50))
        node.notice->said_at = node.node.taints.back().added_at = wall_now();
      break;
    default:
      node.node.is_deleting = true;
  }
  if (!node.node.is_deleting && moves_.percent("taken-back", 30))
    node.retracted_at = now_ + moves_.ticks("taken-back-after", 1, 60);
  if (node.node.is_deleting || moves_.percent("dies-then", 80))
    node.dies_at = now_ + moves_.ticks("dies-after", 1, 80);
}

// Its process ends. The agents' messages and orders are forgotten, and the recovery that the operator
// watched.
void World::lose_operator() {
  ++operators_lost_;
  member_server_ = coordinator::JobSession();
  waits_.clear();
  recovery_.reset();
  late_beats_.clear();
  is_open_ = false;
  Duration away(0);
  if (moves_.percent("away", 50))
    away =
        moves_.percent("for-long", 10) ? moves_.ticks("away-for", 60, 160) : moves_.ticks("away-for", 0, 30);
  down_until_ = now_ + away;
  behind_until_ = now_;  // who comes next lists everything first
  heard_of_worlds_.clear();
  told_.clear();
  // A member that is later than the others counts as lost.
  const bool has_late_ways = scenario_.has_losses && scenario_.policies.has_late_ways;
  for (auto& agent : agents_)
    if (has_late_ways && moves_.percent("late-way", agent->pod_uid, 50))
      agent->cut_until =
          std::max(agent->cut_until, down_until_ + moves_.ticks("late-by", agent->pod_uid, 4, 21));
  follow_watch();
}

// The owner gives a suspended job another size, while it still saves or later; an elastic job later.
void World::resize() {
  if (!job_.spec.is_suspended || (job_.spec.elastic_policy && job_.status.is_world_formed)) return;
  job_.spec.num_nodes = static_cast<std::uint32_t>(1 + moves_.below("resize-to", 4));
  if (auto& elastic = job_.spec.elastic_policy) {
    elastic->members_min = std::min(elastic->members_min, job_.spec.num_nodes);
    if (elastic->members_max > 0) elastic->members_max = job_.spec.num_nodes + scenario_.policies.more_places;
  }
  ++job_.meta.generation;
}

void World::change_spec() {
  job_.spec.restart_policy.backoff_max_seconds ^= 1U;
  ++job_.meta.generation;
}

}  // namespace ratoon::sim
