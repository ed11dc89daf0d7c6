#include "operator/local/cluster_only_fields.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/core/never_destroyed.h"
#include "base/core/split_join.h"
#include "operator/core/members/notice_rules.h"
#include "operator/local/members/cgroup_rules.h"

namespace ratoon::local {
namespace {

using nlohmann::json;

// The fields of the first container (the trainer's) that have an effect in a local run.
constexpr std::array<std::string_view, 5> kSupportedContainerFields = {"name", "command", "args", "env",
                                                                       "resources"};
constexpr std::array<std::string_view, 2> kEnforcedLimits = {kMemoryController, kCpuController};

const json& at(const json& object, const char* name) {
  static const NeverDestroyed<json> kNothing;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : *kNothing;
}

// Besides exit codes and signals, the only reason in restartPolicy.rules that occurs in a local run is
// OOMKilled; all other reasons exist only on clusters.
void add_policy_sentences(const api::TrainingJobSpec& spec, std::vector<std::string>& sentences) {
  const auto& rules = spec.restart_policy.rules;
  const auto is_of_clusters = [](const std::string& reason) { return reason != "OOMKilled"; };
  if (std::ranges::any_of(
          rules, [&](const auto& rule) { return std::ranges::any_of(rule.reasons, is_of_clusters); }))
    sentences.emplace_back("restartPolicy.rules: OOMKilled is the only reason that occurs in a local run");
  if (spec.release_after_seconds > 0)
    sentences.emplace_back(
        "releaseAfterSeconds: no other job uses the nodes of a local run, so it frees none");
  if (spec.ttl_seconds_after_finished)
    sentences.emplace_back("ttlSecondsAfterFinished: a local run never deletes its folder");
  if (spec.clean_pod_policy == api::CleanPodPolicy::kNone)
    sentences.emplace_back("cleanPodPolicy: a local run ignores None, because it ends all its processes");
  if (!spec.disruption_policy.notice_taints.empty())
    sentences.push_back("disruptionPolicy.noticeTaints: a local run uses only the taint " +
                        std::string(core::kReclaimTaint));
  if (!spec.topology.pack_by.empty()) sentences.emplace_back("topology.packBy: a local run has one machine");
  if (!spec.checkpoint_policy.volume_claim_name.empty())
    sentences.emplace_back("checkpointPolicy.volumeClaimName: a local run saves in its own folder instead");
}

void add_container_field_names(const json& container, std::vector<std::string>& names) {
  for (const auto& item : container.items())
    if (std::ranges::find(kSupportedContainerFields, item.key()) == kSupportedContainerFields.end())
      names.push_back(item.key());
  for (const auto& item : at(container, "resources").items())
    if (item.key() != "limits") names.push_back("resources." + item.key());
  for (const auto& item : at(at(container, "resources"), "limits").items())
    if (std::ranges::find(kEnforcedLimits, item.key()) == kEnforcedLimits.end())
      names.push_back("resources.limits." + item.key());
  for (const auto& variable : at(container, "env"))
    if (variable.is_object() && variable.contains("valueFrom"))
      names.push_back("env " + variable.value("name", "") + " (valueFrom)");
}

std::vector<std::string> names_in_template(const json& role) {
  const json& pod_spec = at(at(role, "template"), "spec");
  std::vector<std::string> names;
  if (!pod_spec.is_object()) return names;
  for (const auto& item : pod_spec.items())
    if (item.key() != "containers") names.push_back(item.key());
  const json& containers = at(pod_spec, "containers");
  if (containers.is_array() && !containers.empty()) add_container_field_names(containers.front(), names);
  if (containers.size() > 1) names.emplace_back("all containers but the first");
  return names;
}

}  // namespace

std::vector<std::string> describe_cluster_only_fields(const api::TrainingJob& job) {
  std::vector<std::string> sentences;
  add_policy_sentences(job.spec, sentences);
  if (!job.document) return sentences;
  for (const auto& role : at(at(*job.document, "spec"), "roles")) {
    const auto names = names_in_template(role);
    if (!names.empty())
      sentences.push_back("role " + role.value("name", "") +
                          ": a local run ignores these fields of the pod template: " + join(names, ", "));
  }
  return sentences;
}

}  // namespace ratoon::local
