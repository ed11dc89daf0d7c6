#include "operator/kube/pods/node_codec.h"

#include "operator/kube/lenient_json.h"

namespace ratoon::kube {

Result<api::Node> decode_node(const nlohmann::json& node) {
  constexpr std::size_t kTaintsMax = 256;
  const auto& meta = child(node, "metadata");
  const auto& spec = child(node, "spec");
  api::Node out{.name = text_in(meta, "name"),
                .zone = text_in(child(meta, "labels"), "topology.kubernetes.io/zone"),
                .taints = {},
                .is_unschedulable = flag_in(spec, "unschedulable"),
                .is_deleting = !text_in(meta, "deletionTimestamp").empty()};
  if (out.name.empty()) return Error(ErrorKind::kInvalid, "the node has no name");
  for (const auto& taint : items_of(spec, "taints")) {
    if (out.taints.size() == kTaintsMax) break;
    if (std::string key = text_in(taint, "key"); !key.empty())
      out.taints.push_back({.key = std::move(key),
                            .effect = text_in(taint, "effect"),
                            .added_at = parse_rfc3339(text_in(taint, "timeAdded"))});
  }
  for (const auto& condition : items_of(child(node, "status"), "conditions")) {
    if (text_in(condition, "type") != "Ready") continue;
    const std::string status = text_in(condition, "status");
    out.is_ready = status == "True";
    out.is_lost = status == "Unknown";  // "False" comes from a living kubelet, whose pods may continue
    // Kubelet reports a shutdown of its node at once, before it ends the pods there.
    out.is_shutting_down =
        !out.is_ready && text_in(condition, "message").find("node is shutting down") != std::string::npos;
    out.last_heartbeat = parse_rfc3339(text_in(condition, "lastHeartbeatTime")).value_or(WallTime{});
  }
  return out;
}

}  // namespace ratoon::kube
