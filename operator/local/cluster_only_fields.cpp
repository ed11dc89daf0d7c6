#include "operator/local/cluster_only_fields.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/core/lists.h"
#include "base/core/never_destroyed.h"
#include "operator/core/members/notice_rules.h"
#include "operator/local/members/cgroup_rules.h"

namespace ratoon::local {
namespace {

using nlohmann::json;

// The fields of the first container (the trainer's) that have an effect in a local run.
constexpr std::array<std::string_view, 5> kHeldOfContainer = {"name", "command", "args", "env", "resources"};
constexpr std::array<std::string_view, 2> kHeldLimits = {kMemory, kCpu};

const json& at(const json& object, const char* name) {
  static const NeverDestroyed<json> kNothing;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : *kNothing;
}

// Of the reasons in restartPolicy.rules only OOMKilled occurs in a local run, next to exit codes and signals;
// all other reasons exist only on clusters.
void add_policies(const api::TrainingJobSpec& spec, std::vector<std::string>& sentences) {
  const auto& rules = spec.restart_policy.rules;
  const auto is_of_clusters = [](const std::string& reason) { return reason != "OOMKilled"; };
  if (std::ranges::any_of(
          rules, [&](const auto& rule) { return std::ranges::any_of(rule.reasons, is_of_clusters); }))
    sentences.emplace_back("restartPolicy.rules: OOMKilled is the only reason that occurs in a local run");
  if (spec.ttl_seconds_after_finished)
    sentences.emplace_back("ttlSecondsAfterFinished: a local run deletes nothing; its folder stays");
  if (spec.clean_pod_policy == api::CleanPodPolicy::kNone)
    sentences.emplace_back("cleanPodPolicy: None keeps no process: no process outlives a local run");
  if (!spec.disruption_policy.notice_taints.empty())
    sentences.push_back("disruptionPolicy.noticeTaints: nodes of a local run have one taint, " +
                        std::string(core::kReclaimTaint));
  if (!spec.checkpoint_policy.volume_claim_name.empty())
    sentences.emplace_back("checkpointPolicy.volumeClaimName: a local run uses its own folder instead");
}

void add_container(const json& container, std::vector<std::string>& names) {
  for (const auto& item : container.items())
    if (std::ranges::find(kHeldOfContainer, item.key()) == kHeldOfContainer.end())
      names.push_back(item.key());
  for (const auto& item : at(container, "resources").items())
    if (item.key() != "limits") names.push_back("resources." + item.key());
  for (const auto& item : at(at(container, "resources"), "limits").items())
    if (std::ranges::find(kHeldLimits, item.key()) == kHeldLimits.end())
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
  if (containers.is_array() && !containers.empty()) add_container(containers.front(), names);
  if (containers.size() > 1) names.emplace_back("all containers but the first");
  return names;
}

}  // namespace

std::vector<std::string> describe_cluster_only_fields(const api::TrainingJob& job) {
  std::vector<std::string> sentences;
  add_policies(job.spec, sentences);
  if (!job.document) return sentences;
  for (const auto& role : at(at(*job.document, "spec"), "roles")) {
    const auto names = names_in_template(role);
    if (!names.empty())
      sentences.push_back("role " + role.value("name", "") +
                          ": a local run ignores these fields of its template: " + join(names, ", "));
  }
  return sentences;
}

}  // namespace ratoon::local
