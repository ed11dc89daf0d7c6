#include "operator/kube/pods/placement.h"

#include <set>

#include "base/contract/names.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::kube {
namespace {

using nlohmann::json;

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

// The server accepts one name per requirement for this field.
json not_on(const std::string& node) {
  return {{"key", "metadata.name"}, {"operator", "NotIn"}, {"values", json::array({node})}};
}

bool is_empty_term(const json& term) {
  return items_of(term, "matchExpressions").empty() && items_of(term, "matchFields").empty();
}

bool is_tolerated(const json& tolerations, const char* key) {
  for (const auto& item : tolerations) {
    const std::string effect = text_in(item, "effect");
    const std::string own_key = text_in(item, "key");
    if ((own_key.empty() || own_key == key) && (effect.empty() || effect == "NoExecute")) return true;
  }
  return false;
}

}  // namespace

void avoid_nodes(json& pod_spec, const std::vector<std::string>& nodes) {
  const std::set<std::string> names(nodes.begin(), nodes.end());
  if (names.empty()) return;
  json& affinity = object_in(object_in(pod_spec, "affinity"), "nodeAffinity");
  json& terms =
      list_below(object_in(affinity, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms");
  if (terms.empty()) terms.push_back(json::object());
  const bool is_ours_alone = terms.size() == 1 && is_empty_term(terms.front());
  for (auto& term : terms) {
    // An empty term matches no node; with a requirement it would match all nodes that satisfy the
    // requirement.
    if (!term.is_object() || (is_empty_term(term) && !is_ours_alone)) continue;
    for (const auto& name : names) list_below(term, "matchFields").push_back(not_on(name));
  }
}

void prefer_other_nodes(json& pod_spec, const std::vector<std::string>& nodes) {
  const std::set<std::string> names(nodes.begin(), nodes.end());
  if (names.empty()) return;
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
  // Anti-affinity would have the same effect, but makes a scheduler compare each pod with all others, in both
  // directions: twice its processor time for a thousand jobs (docs/contribute/operator_figures.md).
  list_below(pod_spec, "topologySpreadConstraints")
      .push_back({{"maxSkew", 1},
                  {"topologyKey", "kubernetes.io/hostname"},
                  {"whenUnsatisfiable", "ScheduleAnyway"},
                  {"labelSelector", {{"matchLabels", {{names::label::kJobUid, job_uid}}}}}});
}

void leave_lost_nodes_after(json& pod_spec, std::uint32_t seconds) {
  json& tolerations = list_below(pod_spec, "tolerations");
  for (const char* key : {"node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"}) {
    if (is_tolerated(tolerations, key)) continue;
    tolerations.push_back(
        {{"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", seconds}});
  }
}

}  // namespace ratoon::kube
