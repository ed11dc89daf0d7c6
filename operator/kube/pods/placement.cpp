#include "operator/kube/pods/placement.h"

#include <algorithm>
#include <set>

#include "base/contract/names.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

constexpr const char* kHostLabel = "kubernetes.io/hostname";

json& object_in(json& parent, const char* name) {
  json& value = parent[name];
  if (!value.is_object()) value = json::object();
  return value;
}

json& list_below(json& parent, const char* name) {
  json& value = parent[name];
  if (!value.is_array()) value = json::array();
  return value;
}

// Whether a toleration has the taint's key and effect. The taint's value does not matter, because it is
// harmless to exclude a node twice.
bool is_tolerated(const json& tolerations, const api::Taint& taint) {
  for (const auto& item : tolerations) {
    const std::string effect = text_in(item, "effect");
    const std::string key = text_in(item, "key");
    if ((key.empty() || key == taint.key) && (effect.empty() || effect == taint.effect)) return true;
  }
  return false;
}

bool is_closed_to(const json& pod_spec, const api::NodeToAvoid& node) {
  const json& tolerations = items_of(pod_spec, "tolerations");
  return std::ranges::any_of(node.closed_by,
                             [&](const auto& taint) { return !is_tolerated(tolerations, taint); });
}

json apart_from(const api::MemberPodKey& pod, const std::string& job_uid) {
  namespace label = names::label;
  return {{"topologyKey", kHostLabel},
          {"labelSelector",
           {{"matchLabels",
             {{label::kJobUid, job_uid},
              {label::kRole, pod.role},
              {label::kIndex, std::to_string(pod.index)},
              {label::kIncarnation, std::to_string(pod.incarnation)}}}}}};
}

void stay_apart(json& pod_spec, const std::vector<api::MemberPodKey>& pods, const std::string& job_uid) {
  json& affinity = object_in(object_in(pod_spec, "affinity"), "podAntiAffinity");
  json& terms = list_below(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
  for (const auto& pod : pods) terms.push_back(apart_from(pod, job_uid));
}

// The API server accepts only one name in a requirement on metadata.name. Karpenter refuses a requirement on
// metadata.name in a required affinity, and ignores it in a preferred one.
json not_on(const std::string& node) {
  return {{"key", "metadata.name"}, {"operator", "NotIn"}, {"values", json::array({node})}};
}

void prefer_other_nodes(json& pod_spec, const std::set<std::string>& names) {
  json others = json::array();
  for (const auto& name : names) others.push_back(not_on(name));
  json& affinity = object_in(object_in(pod_spec, "affinity"), "nodeAffinity");
  list_below(affinity, "preferredDuringSchedulingIgnoredDuringExecution")
      .push_back({{"weight", 100}, {"preference", {{"matchFields", std::move(others)}}}});
}

void prefer_apart(json& pod_spec, const std::string& job_uid) {
  const json& affinity = child(pod_spec, "affinity");
  if (!child(affinity, "podAffinity").is_null() || !child(affinity, "podAntiAffinity").is_null()) return;
  if (!items_of(pod_spec, "topologySpreadConstraints").empty()) return;
  // Preferred anti-affinity would spread pods too, but makes the scheduler compare each pod with all others,
  // in both directions: that doubles its CPU time for 1000 jobs (see operator_figures.md in docs/).
  list_below(pod_spec, "topologySpreadConstraints")
      .push_back({{"maxSkew", 1},
                  {"topologyKey", kHostLabel},
                  {"whenUnsatisfiable", "ScheduleAnyway"},
                  {"labelSelector", {{"matchLabels", {{names::label::kJobUid, job_uid}}}}}});
}

}  // namespace

std::vector<std::string> place_away(json& pod_spec, const NodesToAvoid& nodes, const std::string& job_uid) {
  std::set<std::string> disliked(nodes.sick.begin(), nodes.sick.end());
  std::vector<const api::NodeToAvoid*> excluded;
  for (const auto& node : nodes.avoided) {
    if (is_closed_to(pod_spec, node)) continue;
    if (node.pods.empty())
      disliked.insert(node.name);
    else
      excluded.push_back(&node);
  }
  // Set only one preference: a pod that prefers to be apart from the job's other pods would go to a disliked
  // node, because none of the job's pods are on that node any longer.
  if (disliked.empty())
    prefer_apart(pod_spec, job_uid);
  else
    prefer_other_nodes(pod_spec, disliked);
  std::vector<std::string> names;
  for (const auto* node : excluded) {
    stay_apart(pod_spec, node->pods, job_uid);
    names.push_back(node->name);
  }
  return names;
}

void leave_lost_nodes_after(json& pod_spec, std::uint32_t seconds) {
  json& tolerations = list_below(pod_spec, "tolerations");
  for (const char* key : {"node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"}) {
    if (is_tolerated(tolerations, {.key = key, .effect = "NoExecute"})) continue;
    tolerations.push_back(
        {{"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", seconds}});
  }
}

}  // namespace ratoon::kube
