#include "operator/kube/pods/placement.h"

#include <algorithm>
#include <set>

#include "base/contract/names.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

constexpr const char* kHostLabel = "kubernetes.io/hostname";

json& ensure_object(json& parent, const char* name) {
  json& value = parent[name];
  if (!value.is_object()) value = json::object();
  return value;
}

// Returns whether a toleration has the taint's key and effect. Ignores the taint's value: the pod may then
// exclude a node whose taint keeps the pod away already, which is harmless.
bool is_tolerated(const json& tolerations, const api::Taint& taint) {
  for (const auto& item : tolerations) {
    const std::string effect = string_field(item, "effect");
    const std::string key = string_field(item, "key");
    if ((key.empty() || key == taint.key) && (effect.empty() || effect == taint.effect)) return true;
  }
  return false;
}

bool has_untolerated_taint(const json& pod_spec, const api::NodeToAvoid& node) {
  const json& tolerations = items_of(pod_spec, "tolerations");
  return std::ranges::any_of(node.scheduler_avoided_taints,
                             [&](const auto& taint) { return !is_tolerated(tolerations, taint); });
}

json anti_affinity_term(const api::MemberPodKey& pod, const std::string& job_uid) {
  namespace label = names::label;
  return {{"topologyKey", kHostLabel},
          {"labelSelector",
           {{"matchLabels",
             {{label::kJobUid, job_uid},
              {label::kRole, pod.role},
              {label::kIndex, std::to_string(pod.index)},
              {label::kIncarnation, std::to_string(pod.incarnation)}}}}}};
}

void require_anti_affinity(json& pod_spec, const std::vector<api::MemberPodKey>& pods,
                           const std::string& job_uid) {
  json& affinity = ensure_object(ensure_object(pod_spec, "affinity"), "podAntiAffinity");
  json& terms = ensure_list(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
  for (const auto& pod : pods) terms.push_back(anti_affinity_term(pod, job_uid));
}

// The API server accepts only one name in a requirement on metadata.name. Karpenter refuses a requirement on
// metadata.name in a required affinity, and ignores it in a preferred one.
json exclude_node_requirement(const std::string& node) {
  return {{"key", "metadata.name"}, {"operator", "NotIn"}, {"values", json::array({node})}};
}

void prefer_other_nodes(json& pod_spec, const std::set<std::string>& names) {
  json others = json::array();
  for (const auto& name : names) others.push_back(exclude_node_requirement(name));
  json& affinity = ensure_object(ensure_object(pod_spec, "affinity"), "nodeAffinity");
  ensure_list(affinity, "preferredDuringSchedulingIgnoredDuringExecution")
      .push_back({{"weight", 100}, {"preference", {{"matchFields", std::move(others)}}}});
}

void prefer_spread(json& pod_spec, const std::string& job_uid) {
  const json& affinity = child(pod_spec, "affinity");
  if (!child(affinity, "podAffinity").is_null() || !child(affinity, "podAntiAffinity").is_null()) return;
  if (!items_of(pod_spec, "topologySpreadConstraints").empty()) return;
  // Preferred anti-affinity would also spread pods, but then the scheduler compares each pod with all others
  // in both directions. This doubles its CPU time for 1000 jobs (see operator_figures.md in docs/).
  ensure_list(pod_spec, "topologySpreadConstraints")
      .push_back({{"maxSkew", 1},
                  {"topologyKey", kHostLabel},
                  {"whenUnsatisfiable", "ScheduleAnyway"},
                  {"labelSelector", {{"matchLabels", {{names::label::kJobUid, job_uid}}}}}});
}

}  // namespace

std::vector<std::string> exclude_nodes(json& pod_spec, const NodesToAvoid& nodes,
                                       const std::string& job_uid) {
  std::set<std::string> disliked(nodes.faulty.begin(), nodes.faulty.end());
  std::vector<const api::NodeToAvoid*> excluded;
  for (const auto& node : nodes.avoided) {
    if (has_untolerated_taint(pod_spec, node)) continue;
    if (node.pods.empty())
      disliked.insert(node.name);
    else
      excluded.push_back(&node);
  }
  // Prefer either nodes without pods of the job, or nodes that are not disliked, but never both. A disliked
  // node may have no pods of the job, so a preference for nodes without pods of the job would lead the pod to
  // the disliked node.
  if (disliked.empty())
    prefer_spread(pod_spec, job_uid);
  else
    prefer_other_nodes(pod_spec, disliked);
  std::vector<std::string> names;
  for (const auto* node : excluded) {
    require_anti_affinity(pod_spec, node->pods, job_uid);
    names.push_back(node->name);
  }
  return names;
}

void pack_by(json& pod_spec, const std::string& label, const std::string& job_uid) {
  if (label.empty() || !child(child(pod_spec, "affinity"), "podAffinity").is_null()) return;
  // The weight is half of that for healthy nodes: a healthy node matters more than a short network path.
  const json term = {
      {"weight", 50},
      {"podAffinityTerm",
       {{"topologyKey", label}, {"labelSelector", {{"matchLabels", {{names::label::kJobUid, job_uid}}}}}}}};
  json& affinity = ensure_object(ensure_object(pod_spec, "affinity"), "podAffinity");
  ensure_list(affinity, "preferredDuringSchedulingIgnoredDuringExecution").push_back(term);
}

void tolerate_lost_nodes_for(json& pod_spec, std::uint32_t seconds) {
  json& tolerations = ensure_list(pod_spec, "tolerations");
  for (const char* key : {"node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"}) {
    if (is_tolerated(tolerations, {.key = key, .effect = "NoExecute"})) continue;
    tolerations.push_back(
        {{"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", seconds}});
  }
}

}  // namespace ratoon::kube
