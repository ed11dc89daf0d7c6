// The platform's own actions on pods, and the delay of the operator's news.
#include <chrono>

#include "tests/property/operator/simulated_world.h"

namespace ratoon::sim {

// The states of the container and of the pod that the operator reads.
void World::end_pod_as(SimPod& entry, api::PodPhase phase, std::optional<int> exit_code, const char* reason) {
  end_processes(entry.pod.uid);
  entry.pod.phase = phase;
  entry.pod.exit_code = exit_code;
  if (exit_code) entry.pod.ended_at = wall_now();
  leave_record(entry.pod);
  if (reason != nullptr) entry.pod.end_reasons.emplace_back(reason);
}

void World::reject_pod(SimPod& entry) {
  entry.pod.is_evicted = true;
  entry.pod.kubelet_rejection = "UnexpectedAdmissionError: Allocate failed";
  end_pod_as(entry, api::PodPhase::kFailed, std::nullopt, "UnexpectedAdmissionError");
  ++pods_rejected_;
}

void World::end_by_platform() {
  if (pods_.empty()) return;
  const auto victim =
      std::next(pods_.begin(), static_cast<std::ptrdiff_t>(moves_.below("ends-pod", pods_.size())));
  SimPod& entry = victim->second;
  if (entry.pod.phase != api::PodPhase::kRunning || entry.pod.is_deleting || is_on_dead_node(entry)) return;
  switch (moves_.below("ends-how", 6)) {
    case 0:  // a kubelet that needs room
      entry.pod.is_evicted = true;
      return end_pod_as(entry, api::PodPhase::kFailed, moves_.pick("evicted-with", {1, 137, 143}), "Evicted");
    case 1:  // and refuses pods without ever starting one
      entry.pod.is_evicted = true;
      return end_pod_as(entry, api::PodPhase::kFailed, std::nullopt, "Evicted");
    case 2:
      return end_pod_as(entry, api::PodPhase::kFailed, 137, "OOMKilled");
    case 3:  // SIGTERM, and a program that takes it for the end of its work
      entry.pod.is_evicted =
          !scenario_.has_agent || moves_.percent("says-evicted", 50);  // else nobody can tell
      return end_pod_as(entry, api::PodPhase::kSucceeded, 0, nullptr);
    case 4:  // a reset of the node, after which its runtime knows nothing of the container
      return end_pod_as(entry, api::PodPhase::kFailed, 255, "Unknown");
    default:  // an eviction that grants time, in which the program trains on
      delete_with_grace(entry, std::chrono::seconds(scenario_.policies.grace_seconds));
  }
}

void World::delete_with_grace(SimPod& entry, Duration grace) {
  entry.pod.is_deleting = entry.is_signalled = true;
  entry.gone_at = now_ + grace;
  entry.pod.ends_at = WallTime{wall_now().since_epoch + grace};
}

// By hand, or to make room on a node.
void World::delete_somebody() {
  std::vector<SimPod*> running;
  for (auto& [uid, entry] : pods_)
    if (entry.pod.phase == api::PodPhase::kRunning && !entry.pod.is_deleting && !is_on_dead_node(entry))
      running.push_back(&entry);
  if (running.empty()) return;
  SimPod& chosen = *running[moves_.below("deletes-pod", running.size())];
  delete_with_grace(chosen, moves_.ticks("grace", 1, 120));
}

bool World::is_told_to_go(const Agent& agent) const {
  const auto pod = pods_.find(agent.pod_uid);
  return pod != pods_.end() && pod->second.is_signalled;
}

// The server's answer to a write of the operator's own.
void World::note_answer(const std::string& uid) {
  pods_seen_[uid] = pods_.at(uid).pod;
}

void World::follow_watch() {
  if (now_ < behind_until_) return;
  pods_seen_.clear();
  for (const auto& [uid, entry] : pods_) pods_seen_.emplace(uid, entry.pod);
  nodes_seen_.clear();
  notices_seen_.clear();
  for (const auto& [name, entry] : nodes_) {
    nodes_seen_.emplace(name, entry.node);
    if (entry.notice) notices_seen_.emplace(name, *entry.notice);
  }
}

}  // namespace ratoon::sim
