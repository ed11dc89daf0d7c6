// Pods: made, placed, started, ended, deleted; and the processes in them.
#include <algorithm>
#include <chrono>

#include "tests/property/operator/scheduling.h"
#include "tests/property/operator/simulated_world.h"
#include "tests/support/builders.h"

namespace ratoon::sim {

void World::create_pod(const core::CreatePod& action) {
  for (const auto& [uid, entry] : pods_)
    if (entry.pod.name == action.pod.name) return note_answer(uid);  // it exists: the copy learns of it
  SimPod made{.pod = action.pod,
              .avoid_nodes = action.avoid_nodes,
              .runs_at = now_ + moves_.ticks("looked-at-after", 0, 8),
              .gone_at = {}};
  const std::string turn = "uid-" + std::to_string(++created_);
  if (made.pod.uid.empty()) made.pod.uid = turn;
  turns_[made.pod.uid] = turn;
  if (scenario_.policies.tells_avoided_nodes) made.pod.avoided_nodes = excluded_nodes(action.avoid_nodes);
  pods_.emplace(made.pod.uid, made);
  note_answer(made.pod.uid);
}

// A pod that runs nowhere, or no longer runs, has no process to wait for: the server deletes it at once,
// unless it has a finalizer.
bool World::goes_at_once(const SimPod& entry) const {
  return !scenario_.policies.holds_pods &&
         (entry.pod.node.empty() || (entry.pod.has_ended() && !entry.pod.has_running_sidecars));
}

void World::delete_pod(const std::string& uid, bool is_chaos, Duration grace) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  if (goes_at_once(found->second)) {  // one that was deleted before it ended, too
    pods_.erase(found);
    return;
  }
  if (found->second.pod.is_deleting) return note_answer(uid);
  found->second.pod.is_deleting = true;
  found->second.pod.ends_at = WallTime{wall_now().since_epoch + grace};
  // Some pods hang in Terminating, and their processes run on.
  const bool hangs = is_chaos && moves_.percent("hangs-in-terminating", found->second.pod.name, 30);
  found->second.gone_at =
      now_ + (hangs ? moves_.ticks("hangs-for", 20, 120) : moves_.ticks("goes-after", 0, 4));
  note_answer(uid);
}

// The job disappears with its pods, and none hangs: only the end remains visible.
void World::delete_job() {
  is_job_gone_ = true;
  std::erase_if(pods_,
                [&](const auto& item) { return !item.second.pod.is_deleting && goes_at_once(item.second); });
  for (auto& [uid, entry] : pods_) {
    entry.pod.is_deleting = true;
    entry.gone_at = now_;
  }
}

void World::move_pods(bool is_chaos) {
  for (auto it = pods_.begin(); it != pods_.end();) {
    SimPod& entry = it->second;
    const bool is_stuck = is_on_dead_node(entry);
    if (entry.pod.is_deleting && now_ >= entry.gone_at && !is_stuck) {
      end_processes(it->first);
      it = pods_.erase(it);
      continue;
    }
    if (entry.pod.phase == api::PodPhase::kPending && !entry.pod.is_deleting && now_ >= entry.runs_at) {
      if (entry.pod.node.empty()) {
        place(entry, is_chaos);
      } else if (!is_stuck && !scenario_.has_agent && entry.pod.address.empty()) {
        // Its network is ready a moment before its program.
        entry.pod.address =
            "10.0." + std::to_string(addresses_ / 250) + "." + std::to_string(addresses_ % 250 + 1);
        ++addresses_;
      } else if (is_chaos && scenario_.has_losses && scenario_.policies.rejects_pods &&
                 moves_.percent("kubelet-rejects", entry.pod.name, 20)) {
        reject_pod(entry);
      } else if (!is_stuck) {
        entry.pod.phase = api::PodPhase::kRunning;
        start_processes(entry, is_chaos);
      }
    }
    ++it;
  }
}

void World::start_processes(SimPod& pod, bool is_chaos) {
  pod.began_at = now_;
  for (std::uint32_t local_rank = 0; local_rank < scenario_.processes_per_node; ++local_rank) {
    auto agent = std::make_unique<Agent>();
    agent->identity = test::process(pod.pod.index, pod.pod.incarnation, local_rank);
    agent->identity.role = pod.pod.role;
    agent->identity.member_uid = pod.pod.uid;
    agent->identity.start = "start-" + std::to_string(++starts_);
    agent->pod_uid = pod.pod.uid;
    // A large program needs time before its first call.
    agent->frozen_until =
        now_ + (moves_.percent("starts-slowly", pod.pod.name, 20) ? moves_.ticks("starts-after", 8, 24)
                                                                  : Duration(0));
    if (is_chaos && scenario_.starts_in_overload) start_in_overload(*agent);
    agents_.push_back(std::move(agent));
  }
}

Duration World::start_deadline() const {
  const auto deadline = std::chrono::seconds(scenario_.start_deadline_seconds);
  return deadline == Duration(0) ? Duration::max() : Duration(deadline);
}

// Its machine starts many programs at once. It stands for longer than a member may be silent, and for less
// than the start deadline: before its first call, or after it.
void World::start_in_overload(Agent& agent) {
  if (!moves_.percent("starts-in-overload", agent.pod_uid, 60)) return;
  const auto limit =
      static_cast<std::uint64_t>(std::chrono::seconds(scenario_.suspect_after_seconds) / kTick);
  const auto longest =
      static_cast<std::uint64_t>(std::min<Duration>(start_deadline(), std::chrono::minutes(1)) / kTick);
  const Duration length = moves_.ticks("stands-for", agent.pod_uid, limit + 1, longest);
  ++slow_starts_;
  // A world may be formed with a member that has just called. From its seat on it may be silent for no longer
  // than others, which is a loss.
  if (scenario_.has_losses && moves_.percent("after-its-call", agent.pod_uid, 70))
    agent.stalls_after_call = length;
  else
    agent.frozen_until = now_ + length;
}

bool World::starts_in_time(const std::string& pod_uid) const {
  std::uint32_t starting = 0;
  for (const auto& agent : agents_) {
    if (agent->pod_uid != pod_uid || agent->state == Agent::State::kGone) continue;
    const bool is_known = agent->called_at && agent->called_operator == operators_lost_;
    if (!is_known || agent->has_been_in_world || now_ - *agent->called_at >= start_deadline()) return false;
    ++starting;
  }
  return starting == scenario_.processes_per_node;
}

bool World::has_just_begun(const std::string& pod_uid) const {
  const auto pod = pods_.find(pod_uid);
  return pod != pods_.end() && pod->second.began_at && now_ - *pod->second.began_at < start_deadline();
}

bool World::is_node_dead(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() || found->second.is_dead;
}

void World::end_processes(const std::string& pod_uid) {
  for (auto& agent : agents_)
    if (agent->pod_uid == pod_uid) agent->state = Agent::State::kGone;
}

// The first process of a container leaves its record before it sends a message.
void World::leave_record(api::Pod& pod) const {
  pod.is_completed = done_.contains({pod.uid, 0});
  const auto record = records_.find(pod.uid);
  if (pod.is_completed && record != records_.end()) pod.last_checkpoint = record->second;
}

// A pod ends with its first process that fails, or with the last one that does not.
void World::end_pod(const std::string& uid, int exit_code) {
  const auto found = pods_.find(uid);
  const bool others_live = std::any_of(agents_.begin(), agents_.end(), [&](const auto& agent) {
    return agent->pod_uid == uid && agent->state != Agent::State::kGone;
  });
  if (exit_code == 0 && others_live) return;
  end_processes(uid);
  if (found == pods_.end() || found->second.pod.has_ended()) return;
  api::Pod& pod = found->second.pod;
  pod.phase = exit_code == 0 ? api::PodPhase::kSucceeded : api::PodPhase::kFailed;
  pod.exit_code = exit_code;
  pod.ended_at = wall_now();
  leave_record(pod);
  pod.has_running_sidecars = scenario_.policies.has_neighbours;
}

void World::leave(Agent& agent, int exit_code) {
  agent.state = Agent::State::kGone;
  end_pod(agent.pod_uid, exit_code);
}

}  // namespace ratoon::sim
