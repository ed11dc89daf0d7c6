#include "operator/kube/pods/placement.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kube/lenient_json.h"
#include "operator/kube/pods/member_pod.h"

namespace ratoon::kube::placement_test {
namespace {

using nlohmann::json;

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr const char* kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

json document() {
  return json::parse(R"({
    "apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "digits", "namespace": "team-a", "uid": "u"},
    "spec": {"numNodes": 2, "roles": [{"name": "worker", "template": {"spec": {"containers": [
      {"name": "trainer", "image": "i", "command": ["train"]}]}}}]}})");
}

Result<json> make(const json& job, const NodesToAvoid& nodes = {}) {
  const auto decoded = api::decode_training_job(job);
  if (!decoded) return decoded.error();
  const api::Pod member{.name = "digits-worker-1-i2", .role = "worker", .index = 1, .incarnation = 2};
  return make_member_pod(*decoded, member, nodes, {.coordinator_url = "http://10.0.0.1:9443"});
}

json& pod_spec(json& job) {
  return job["spec"]["roles"][0]["template"]["spec"];
}

api::NodeToAvoid held(const std::string& name, std::uint32_t index) {
  return {.name = name, .pods = {{.role = "worker", .index = index, .incarnation = 1}}};
}

api::NodeToAvoid tainted(const std::string& name) {
  api::NodeToAvoid node = held(name, 0);
  node.scheduler_avoided_taints = {{.key = "karpenter.sh/disrupted", .effect = "NoSchedule"}};
  return node;
}

// The reasons for which Karpenter ignores a pod: validateAffinity and validateNodeSelector of its
// provisioner, and IsRestrictedLabel. Before 1.5.0 it validated preferred terms, too.
std::set<std::string> why_karpenter_ignores(const json& spec, bool is_before_1_5 = false) {
  std::set<std::string> reasons;
  const auto validate = [&](const json& term) {
    if (term.contains("matchFields")) reasons.insert("matchFields");
    for (const auto& expression : items_of(term, "matchExpressions"))
      if (string_field(expression, "key") == "kubernetes.io/hostname") reasons.insert("hostname");
  };
  const json& affinity = child(child(spec, "affinity"), "nodeAffinity");
  for (const auto& term : items_of(child(affinity, kRequired), "nodeSelectorTerms")) validate(term);
  if (is_before_1_5)
    for (const auto& term : items_of(affinity, kPreferred)) validate(term["preference"]);
  if (child(spec, "nodeSelector").contains("kubernetes.io/hostname")) reasons.insert("hostname");
  return reasons;
}

TEST(Placement, KeepsAwayFromThePodsOnAnAvoidedNode) {
  const json pod = *make(document(), {.avoided = {held("b", 3), held("a", 0)}});
  EXPECT_EQ(pod["spec"]["affinity"], json::parse(R"({"podAntiAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {
          "ratoon.dev/job-uid": "u", "ratoon.dev/role": "worker",
          "ratoon.dev/index": "3", "ratoon.dev/incarnation": "1"}}},
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {
          "ratoon.dev/job-uid": "u", "ratoon.dev/role": "worker",
          "ratoon.dev/index": "0", "ratoon.dev/incarnation": "1"}}}]}})"));
  EXPECT_EQ(pod["metadata"]["annotations"]["ratoon.dev/avoided-nodes"], "b,a");
  EXPECT_EQ(pod["spec"]["topologySpreadConstraints"].size(), 1U) << "it is spread as before";
}

TEST(Placement, TheTermSelectsExactlyThePodThatWasLost) {
  json job = document();
  const auto decoded = *api::decode_training_job(job);
  const api::Pod lost{.name = "digits-worker-3-i1", .role = "worker", .index = 3, .incarnation = 1};
  const json labels =
      (*make_member_pod(decoded, lost, {}, {.coordinator_url = "http://x:1"}))["metadata"]["labels"];
  const json pod = *make(job, {.avoided = {held("b", 3)}});
  const json& selected =
      pod["spec"]["affinity"]["podAntiAffinity"][kRequired][0]["labelSelector"]["matchLabels"];
  for (const auto& [name, value] : selected.items()) EXPECT_EQ(labels[name], value) << name;
  EXPECT_NE(pod["metadata"]["labels"]["ratoon.dev/index"], selected["ratoon.dev/index"]) << "not itself";
}

TEST(Placement, TheUsersAffinityStays) {
  json job = document();
  const json own = json::parse(R"({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]}},
    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "rack"}]}})");
  pod_spec(job)["affinity"] = own;
  EXPECT_EQ((*make(job))["spec"]["affinity"], own);
  const json affinity = (*make(job, {.avoided = {held("b", 3)}}))["spec"]["affinity"];
  EXPECT_EQ(affinity["nodeAffinity"], own["nodeAffinity"]);
  EXPECT_EQ(affinity["podAntiAffinity"][kRequired].size(), 2U);
  EXPECT_EQ(affinity["podAntiAffinity"][kRequired][0], own["podAntiAffinity"][kRequired][0]);
}

TEST(Placement, ATaintOrCordonNeedsNoTerm) {
  const json pod = *make(document(), {.avoided = {tainted("a")}});
  EXPECT_FALSE(pod["spec"].contains("affinity"));
  EXPECT_FALSE(pod["metadata"]["annotations"].contains("ratoon.dev/avoided-nodes"));
}

TEST(Placement, ATaintThatTheTemplateToleratesNeedsATerm) {
  const auto is_excluded = [](const char* tolerations) {
    json job = document();
    pod_spec(job)["tolerations"] = json::parse(tolerations);
    return (*make(job, {.avoided = {tainted("a")}}))["spec"].contains("affinity");
  };
  EXPECT_TRUE(is_excluded(R"([{"operator": "Exists"}])"));
  EXPECT_TRUE(is_excluded(R"([{"key": "karpenter.sh/disrupted", "operator": "Exists"}])"));
  EXPECT_TRUE(is_excluded(R"([{"operator": "Exists", "effect": "NoSchedule"}])"));
  EXPECT_FALSE(is_excluded(R"([{"operator": "Exists", "effect": "NoExecute"}])"));
  EXPECT_FALSE(is_excluded(R"([{"key": "nvidia.com/gpu", "operator": "Exists"}])"));
}

TEST(Placement, ANodeWithoutPodsOfTheJobIsDislikedLikeASickOne) {
  const json pod = *make(document(), {.avoided = {{.name = "b"}}, .faulty = {"c", "a"}});
  EXPECT_EQ(pod["spec"]["affinity"],
            json::parse(R"({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
      {"weight": 100, "preference": {"matchFields": [
          {"key": "metadata.name", "operator": "NotIn", "values": ["a"]},
          {"key": "metadata.name", "operator": "NotIn", "values": ["b"]},
          {"key": "metadata.name", "operator": "NotIn", "values": ["c"]}]}}]}})"));
  EXPECT_FALSE(pod["spec"].contains("topologySpreadConstraints"))
      << "a node that its peers left would be the better one";
  EXPECT_FALSE(pod["metadata"]["annotations"].contains("ratoon.dev/avoided-nodes")) << "no term excludes it";
}

TEST(Placement, KarpenterMakesNodesForTheseForms) {
  const NodesToAvoid lost{.avoided = {held("a", 0), tainted("b")}};
  EXPECT_THAT(why_karpenter_ignores((*make(document()))["spec"], true), testing::IsEmpty());
  EXPECT_THAT(why_karpenter_ignores((*make(document(), lost))["spec"], true), testing::IsEmpty());
  const NodesToAvoid disliked{.avoided = {{.name = "b"}}, .faulty = {"c"}};
  EXPECT_THAT(why_karpenter_ignores((*make(document(), disliked))["spec"]), testing::IsEmpty());
  EXPECT_THAT(why_karpenter_ignores((*make(document(), disliked))["spec"], true),
              testing::ElementsAre("matchFields"));
}

TEST(Placement, WhatTheUserSaysOfPlacementStays) {
  json job = document();
  EXPECT_EQ((*make(job))["spec"]["tolerations"].size(), 2u);
  pod_spec(job)["tolerations"] = {{{"key", "node.kubernetes.io/not-ready"}, {"operator", "Exists"}}};
  const json tolerations = (*make(job))["spec"]["tolerations"];
  ASSERT_EQ(tolerations.size(), 2u);
  EXPECT_EQ(tolerations[1]["key"], "node.kubernetes.io/unreachable");
  EXPECT_EQ(tolerations[1]["tolerationSeconds"], 20);
}

TEST(Placement, MembersArePackedByTheLabelOfTheJobUnlessTheTemplateHasPodAffinity) {
  json job = document();
  EXPECT_FALSE((*make(job))["spec"].contains("affinity"));
  job["spec"]["topology"] = {{"packBy", "example.com/rack"}};
  const json spec = (*make(job))["spec"];
  EXPECT_EQ(spec["affinity"]["podAffinity"],
            json({{kPreferred, json::parse(R"([{"weight": 50, "podAffinityTerm":
      {"topologyKey": "example.com/rack",
       "labelSelector": {"matchLabels": {"ratoon.dev/job-uid": "u"}}}}])")}}));
  EXPECT_EQ(spec["topologySpreadConstraints"].size(), 1U) << "over the nodes of a rack, members are spread";
  EXPECT_THAT(why_karpenter_ignores(spec), testing::IsEmpty());

  const json of_user = {{kRequired, json::array()}};
  pod_spec(job)["affinity"]["podAffinity"] = of_user;
  EXPECT_EQ((*make(job))["spec"]["affinity"]["podAffinity"], of_user);
  job["spec"]["topology"] = {{"packBy", 7}};
  EXPECT_FALSE(make(job));
}

TEST(Placement, MembersAreRatherApartUnlessTheUserSaysHowPodsSpread) {
  json job = document();
  const json spread = (*make(job))["spec"]["topologySpreadConstraints"];
  ASSERT_EQ(spread.size(), 1u);
  EXPECT_EQ(spread[0]["whenUnsatisfiable"], "ScheduleAnyway");
  EXPECT_EQ(spread[0]["topologyKey"], "kubernetes.io/hostname");
  EXPECT_EQ(spread[0]["labelSelector"]["matchLabels"], json({{"ratoon.dev/job-uid", "u"}}));
  for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
    json own = document();
    pod_spec(own)["affinity"][kind] = json::object();
    EXPECT_FALSE((*make(own))["spec"].contains("topologySpreadConstraints")) << kind;
  }
  const json by_zone = {{{"maxSkew", 1},
                         {"topologyKey", "topology.kubernetes.io/zone"},
                         {"whenUnsatisfiable", "DoNotSchedule"},
                         {"labelSelector", json::object()}}};
  pod_spec(job)["topologySpreadConstraints"] = by_zone;
  EXPECT_EQ((*make(job))["spec"]["topologySpreadConstraints"], by_zone);
}

}  // namespace
}  // namespace ratoon::kube::placement_test
