// Objects as an API server sends them, of realistic size: with managedFields, conditions, a kubelet's
// messages about containers and the images of a node.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "base/contract/names.h"
#include "operator/api/training_job.h"
#include "operator/kube/pods/member_pod.h"

namespace ratoon::bench {

using nlohmann::json;

// The server notes each field's writer in an object of the same shape.
inline json fields_of(const json& value) {
  json fields = json::object();
  if (!value.is_object()) return fields;
  for (const auto& [key, item] : value.items()) fields["f:" + key] = fields_of(item);
  return fields;
}

inline void add_managed_fields(json& object) {
  json writers = json::array();
  for (const char* writer : {"ratoon-operator", "kubelet"}) {
    writers.push_back({{"manager", writer},
                       {"operation", "Update"},
                       {"time", "2026-11-22T12:00:00Z"},
                       {"fieldsType", "FieldsV1"},
                       {"fieldsV1", fields_of(object)}});
  }
  object["metadata"]["managedFields"] = std::move(writers);
}

inline json condition(const std::string& type) {
  return {{"type", type},
          {"status", "True"},
          {"lastProbeTime", nullptr},
          {"lastHeartbeatTime", "2026-11-22T12:00:00Z"},
          {"lastTransitionTime", "2026-11-22T12:00:00Z"}};
}

inline std::string job_name(std::uint32_t number) {
  return "digits-" + std::to_string(number);
}

inline json job_object(std::uint32_t number, std::uint32_t members) {
  const json container = {{"name", "trainer"},
                          {"image", "registry.example/digits:1"},
                          {"command", json::array({"digits"})},
                          {"env", json::array({{{"name", "RATOON_SAVE_FOLDER"}, {"value", "/checkpoints"}}})},
                          {"resources", {{"limits", {{"cpu", "1"}, {"memory", "1Gi"}}}}}};
  const json role = {{"name", "worker"},
                     {"template", {{"spec", {{"containers", json::array({container})}}}}}};
  return {{"apiVersion", names::kApiVersion},
          {"kind", names::kKind},
          {"metadata",
           {{"name", job_name(number)},
            {"namespace", "default"},
            {"uid", "job-uid-" + std::to_string(number)},
            {"generation", 1U},
            {"resourceVersion", std::to_string(1 + number)}}},
          {"spec", {{"numNodes", members}, {"roles", json::array({role})}}}};
}

// A running pod of the first incarnation.
inline json pod_object(const api::TrainingJob& job, std::uint32_t index, std::uint64_t version) {
  api::Pod member{
      .name = member_name(api::key_of(job), "worker", index, 0), .role = "worker", .index = index};
  json pod = *kube::make_member_pod(job, member, {}, {.coordinator_url = "http://10.96.0.7:9443"});
  pod["metadata"]["namespace"] = job.meta.name_space;
  pod["metadata"]["uid"] = "9b1f27a8-0d6c-4a43-" + member.name;
  pod["metadata"]["resourceVersion"] = std::to_string(version);
  pod["metadata"]["creationTimestamp"] = "2026-11-22T12:00:00Z";
  pod["spec"]["nodeName"] = "node-" + std::to_string(index);
  const json container = {
      {"name", "trainer"},
      {"ready", true},
      {"restartCount", 0},
      {"started", true},
      {"image", "registry.example/digits:1"},
      {"imageID", "sha256:6f2a9d2c1d3f4b5a6c7d8e9f00112233445566778899aabbccddeeff00112233"},
      {"containerID", "containerd://6f2a9d2c1d3f4b5a6c7d8e9f00112233445566778899aabbccddeeff00112233"},
      {"state", {{"running", {{"startedAt", "2026-11-22T12:00:00Z"}}}}}};
  pod["status"] = {{"phase", "Running"},
                   {"hostIP", "10.0.0.7"},
                   {"podIP", "10.244.3.17"},
                   {"podIPs", json::array({{{"ip", "10.244.3.17"}}})},
                   {"qosClass", "Burstable"},
                   {"startTime", "2026-11-22T12:00:00Z"},
                   {"conditions",
                    {condition("PodReadyToStartContainers"), condition("Initialized"), condition("Ready"),
                     condition("ContainersReady"), condition("PodScheduled")}},
                   {"containerStatuses", json::array({container})}};
  add_managed_fields(pod);
  return pod;
}

inline json node_object(std::uint32_t number, std::uint64_t version) {
  constexpr int kImages = 50;  // as many as a kubelet reports
  json node = {{"metadata",
                {{"name", "node-" + std::to_string(number)},
                 {"uid", "node-uid-" + std::to_string(number)},
                 {"resourceVersion", std::to_string(version)},
                 {"labels", {{"kubernetes.io/arch", "amd64"}, {"topology.kubernetes.io/zone", "zone-a"}}}}},
               {"spec", {{"podCIDR", "10.244.3.0/24"}}},
               {"status",
                {{"capacity", {{"cpu", "8"}, {"memory", "32Gi"}, {"nvidia.com/gpu", "8"}, {"pods", "110"}}},
                 {"conditions",
                  {condition("MemoryPressure"), condition("DiskPressure"), condition("PIDPressure"),
                   condition("Ready")}}}}};
  for (int i = 0; i < kImages; ++i) {
    const std::string name = "registry.example/image-" + std::to_string(i);
    node["status"]["images"].push_back(
        {{"names", {name + "@sha256:6f2a9d2c1d3f4b5a", name + ":1"}}, {"sizeBytes", 123456789}});
  }
  add_managed_fields(node);
  return node;
}

}  // namespace ratoon::bench
