#include "operator/kube/pods/node_codec.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "operator/kube/lenient_json.h"

namespace ratoon::kube {

namespace {

std::map<std::string, std::string> select_entries(const std::set<std::string>& keys,
                                                  const nlohmann::json& texts) {
  std::map<std::string, std::string> found;
  if (!texts.is_object()) return found;
  for (const auto& key : keys)
    if (const auto text = texts.find(key); text != texts.end() && text->is_string())
      found.emplace(key, text->get<std::string>());
  return found;
}

void read_node_condition(const nlohmann::json& condition, const api::NodeFactKeys& keys, api::Node& out) {
  const std::string type = string_field(condition, "type");
  const std::string status = string_field(condition, "status");
  const auto since = parse_rfc3339(string_field(condition, "lastTransitionTime"));
  const bool is_noted =
      std::ranges::find(out.conditions, type, &api::NodeCondition::type) != out.conditions.end();
  if (keys.conditions.contains(type) && !is_noted)
    out.conditions.push_back({.type = type, .status = status, .since = since});
  if (type != "Ready") return;
  out.is_ready = status == "True";
  out.is_lost = status == "Unknown";  // "False" comes from a living kubelet, whose pods may continue
  // Kubelet reports a shutdown of its node at once, before it ends the pods there.
  out.is_shutting_down =
      !out.is_ready && string_field(condition, "message").find("node is shutting down") != std::string::npos;
  out.shutting_down_since = out.is_shutting_down ? since : std::nullopt;
  out.last_heartbeat = parse_rfc3339(string_field(condition, "lastHeartbeatTime")).value_or(WallTime{});
}

}  // namespace

Result<api::Node> decode_node(const nlohmann::json& node, const api::NodeFactKeys& keys) {
  constexpr std::size_t kTaintsMax = 256;
  const auto& meta = child(node, "metadata");
  const auto& spec = child(node, "spec");
  api::Node out{.name = string_field(meta, "name"),
                .zone = string_field(child(meta, "labels"), "topology.kubernetes.io/zone"),
                .taints = {},
                .is_unschedulable = bool_field(spec, "unschedulable"),
                .is_deleting = !string_field(meta, "deletionTimestamp").empty(),
                .labels = select_entries(keys.labels, child(meta, "labels")),
                .annotations = select_entries(keys.annotations, child(meta, "annotations"))};
  if (out.name.empty()) return Error(ErrorKind::kInvalid, "the node has no name");
  for (const auto& taint : items_of(spec, "taints")) {
    if (out.taints.size() == kTaintsMax) break;
    if (std::string key = string_field(taint, "key"); !key.empty())
      out.taints.push_back({.key = std::move(key),
                            .effect = string_field(taint, "effect"),
                            .added_at = parse_rfc3339(string_field(taint, "timeAdded")),
                            .value = string_field(taint, "value")});
  }
  for (const auto& condition : items_of(child(node, "status"), "conditions"))
    read_node_condition(condition, keys, out);
  return out;
}

}  // namespace ratoon::kube
