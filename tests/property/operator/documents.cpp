#include "tests/property/operator/documents.h"

#include <array>
#include <chrono>
#include <map>
#include <string>

#include "base/contract/codec.h"
#include "base/contract/names.h"

namespace ratoon::sim {
namespace {

using nlohmann::json;

constexpr const char* kTrainer = "trainer";
constexpr const char* kInjected = "istio-proxy";

json role_document(const api::Role& role) {
  const json container = {{"name", kTrainer}, {"image", "i"}, {"command", role.command}};
  json out = {{"name", role.name}, {"template", {{"spec", {{"containers", json::array({container})}}}}}};
  if (role.replicas) out["replicas"] = *role.replicas;
  if (!role.has_agent) out["agent"] = "None";
  return out;
}

json rule_document(const api::RestartRule& rule) {
  constexpr std::array<const char*, 3> kActions = {"Restart", "Fail", "Ignore"};
  return {{"exitCodes", rule.exit_codes},
          {"signals", rule.signals},
          {"reasons", rule.reasons},
          {"roles", rule.roles},
          {"action", kActions.at(static_cast<std::size_t>(rule.action))}};
}

json restart_document(const api::RestartPolicy& policy) {
  json rules = json::array();
  for (const auto& rule : policy.rules) rules.push_back(rule_document(rule));
  json out = {{"maxRestarts", policy.restarts_max},
              {"rules", rules},
              {"backoffSeconds", policy.backoff_seconds},
              {"backoffMaxSeconds", policy.backoff_max_seconds}};
  if (policy.is_losses_without_step_max_set) out["maxLossesWithoutStep"] = policy.losses_without_step_max;
  return out;
}

const char* phase_name(api::PodPhase phase) {
  constexpr std::array<const char*, 4> kPhases = {"Pending", "Running", "Succeeded", "Failed"};
  return kPhases.at(static_cast<std::size_t>(phase));
}

// Times as the server stores them.
std::string whole_seconds(WallTime t) {
  return format_rfc3339({std::chrono::floor<std::chrono::seconds>(t.since_epoch)});
}

json terminated_document(const api::Pod& pod) {
  json out = {{"exitCode", *pod.exit_code}};
  if (pod.ended_at) out["finishedAt"] = whole_seconds(*pod.ended_at);
  for (const auto& reason : pod.end_reasons)
    if (reason == "OOMKilled" || reason == "Unknown") out["reason"] = reason;
  if (pod.is_completed) {
    CompletionRecord record;
    record.checkpoint.digest = "d";
    record.weights = pod.weights;
    out["message"] = encode(record);
  }
  return out;
}

// A container as a service mesh's webhook adds it, before all containers of the operator.
void inject_container(json& containers) {
  const json injected = {{"name", kInjected}, {"image", "proxy"}};
  if (containers.front()["name"] != kInjected) containers.insert(containers.begin(), injected);
}

}  // namespace

json spec_document(const api::TrainingJobSpec& spec) {
  constexpr std::array<const char*, 3> kCleanPods = {"None", "Running", "All"};
  json roles = json::array();
  for (const auto& role : spec.roles) roles.push_back(role_document(role));
  json out = {{"roles", roles},
              {"numNodes", spec.num_nodes},
              {"processesPerNode", spec.processes_per_node},
              {"suspend", spec.is_suspended},
              {"restartPolicy", restart_document(spec.restart_policy)},
              {"cleanPodPolicy", kCleanPods.at(static_cast<std::size_t>(spec.clean_pod_policy))},
              {"maxDurationSeconds", spec.max_duration_seconds},
              {"startDeadlineSeconds", spec.start_deadline_seconds},
              {"progressDeadlineSeconds", spec.progress_deadline_seconds},
              {"disruptionPolicy", {{"avoidNodeSeconds", spec.disruption_policy.avoid_node_seconds}}},
              {"checkpointPolicy", {{"overwrite", spec.checkpoint_policy.overwrites}}}};
  if (!spec.success_policy.roles.empty()) out["successPolicy"] = {{"roles", spec.success_policy.roles}};
  if (!spec.failure_policy.roles.empty()) out["failurePolicy"] = {{"roles", spec.failure_policy.roles}};
  if (spec.release_after_seconds > 0) out["releaseAfterSeconds"] = spec.release_after_seconds;
  if (spec.ttl_seconds_after_finished) out["ttlSecondsAfterFinished"] = *spec.ttl_seconds_after_finished;
  if (const auto& elastic = spec.elastic_policy) {
    out["elasticPolicy"] = {{"minReplicas", elastic->members_min},
                            {"shrinkAfterSeconds", elastic->shrink_after_seconds},
                            {"growCooldownSeconds", elastic->grow_cooldown_seconds}};
    if (elastic->members_max > 0) out["elasticPolicy"]["maxReplicas"] = elastic->members_max;
  }
  return out;
}

json job_document(const api::TrainingJob& job) {
  return {{"apiVersion", names::kApiVersion},
          {"kind", names::kKind},
          {"metadata",
           {{"name", job.meta.name},
            {"namespace", job.meta.name_space},
            {"uid", job.meta.uid},
            {"generation", job.meta.generation}}},
          {"spec", spec_document(job.spec)}};
}

std::optional<api::GroupRankAssignment> group_seat_in(const json& document) {
  std::map<std::string, std::string> told;
  for (const auto& variable : document["spec"]["containers"].back()["env"])
    told[variable["name"].get<std::string>()] = variable.value("value", "");
  if (!told.contains(names::env::kMasterAddress)) return std::nullopt;
  const auto number = [&](const char* name) { return static_cast<std::uint32_t>(std::stoul(told.at(name))); };
  return api::GroupRankAssignment{.master_address = told.at(names::env::kMasterAddress),
                                  .master_uid = {},
                                  .first_rank = number(names::env::kRank),
                                  .world_size = number(names::env::kWorldSize)};
}

json pod_document(json made, const api::Pod& pod) {
  inject_container(made["spec"]["containers"]);
  made["metadata"]["uid"] = pod.uid;
  if (!pod.node.empty()) made["spec"]["nodeName"] = pod.node;
  if (pod.is_deleting)
    made["metadata"]["deletionTimestamp"] = whole_seconds(pod.ends_at.value_or(WallTime{}));
  json conditions = json::array();
  if (pod.is_evicted) conditions.push_back({{"type", "DisruptionTarget"}, {"status", "True"}});
  if (!pod.unplaced_reason.empty())
    conditions.push_back({{"type", "PodScheduled"}, {"status", "False"}, {"message", pod.unplaced_reason}});
  const auto phase = pod.has_running_sidecars ? api::PodPhase::kRunning : pod.phase;
  json status = {{"phase", phase_name(phase)}, {"podIP", pod.address}, {"conditions", conditions}};
  for (const auto& reason : pod.end_reasons)
    if (reason == "Evicted" || !pod.kubelet_rejection.empty()) status["reason"] = reason;
  if (!pod.kubelet_rejection.empty())
    status["message"] = pod.kubelet_rejection.substr(pod.kubelet_rejection.find(' ') + 1);
  if (pod.exit_code) {
    const json injected = pod.has_running_sidecars ? json{{"running", json::object()}}
                                                   : json{{"terminated", {{"exitCode", 0}}}};
    status["containerStatuses"] = {
        {{"name", kInjected}, {"state", injected}},
        {{"name", kTrainer}, {"state", {{"terminated", terminated_document(pod)}}}}};
  }
  made["status"] = std::move(status);
  return made;
}

json node_document(const api::Node& node) {
  json taints = json::array();
  for (const auto& taint : node.taints) {
    taints.push_back({{"key", taint.key}, {"effect", taint.effect}});
    if (taint.added_at) taints.back()["timeAdded"] = whole_seconds(*taint.added_at);
  }
  json out = {{"metadata", {{"name", node.name}}},
              {"spec", {{"unschedulable", node.is_unschedulable}, {"taints", taints}}}};
  if (!node.zone.empty()) out["metadata"]["labels"] = {{"topology.kubernetes.io/zone", node.zone}};
  if (node.is_deleting) out["metadata"]["deletionTimestamp"] = "2026-11-22T12:00:00Z";
  return out;
}

}  // namespace ratoon::sim
