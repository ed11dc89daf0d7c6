#include "operator/local/cluster_only_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ratoon::local::cluster_only_fields_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

class ClusterOnlyFields : public testing::Test {
 protected:
  // The sentences about a job of one role with these additional fields.
  static std::vector<std::string> said(const json& spec, const json& pod_spec = json::object(),
                                       const json& container = json::object()) {
    json trainer = {{"name", "trainer"}, {"command", {"train"}}, {"args", {"-x"}}};
    trainer.update(container);
    json pod = {{"containers", {trainer}}};
    pod.update(pod_spec);
    json document = {{"apiVersion", "ratoon.dev/v1alpha1"},
                     {"kind", "TrainingJob"},
                     {"metadata", {{"name", "words"}}},
                     {"spec", {{"roles", {{{"name", "worker"}, {"template", {{"spec", pod}}}}}}}}};
    document["spec"].update(spec);
    const auto job = api::decode_training_job(document);
    EXPECT_TRUE(job) << job.error().message();
    return job ? describe_cluster_only_fields(*job) : std::vector<std::string>();
  }
};

TEST_F(ClusterOnlyFields, NothingIsSaidOfAJobForOneMachine) {
  EXPECT_THAT(
      said({{"numNodes", 2U}, {"cleanPodPolicy", "Running"}, {"elasticPolicy", {{"minReplicas", 1U}}}},
           json::object(), {{"env", {{{"name", "LEVEL"}, {"value", "3"}}}}}),
      IsEmpty());
}

TEST_F(ClusterOnlyFields, EachPolicyThatIsNeverMetIsSaidOnce) {
  const json rules = {{{"reasons", {"Evicted"}}, {"action", "Ignore"}},
                      {{"reasons", {"OOMKilled"}}, {"action", "Fail"}}};
  EXPECT_THAT(said({{"restartPolicy", {{"rules", rules}}}}),
              ElementsAre("restartPolicy.rules: OOMKilled is the only reason that occurs in a local run"));
  EXPECT_THAT(said({{"restartPolicy", {{"rules", {rules[1]}}}}}), IsEmpty());
  EXPECT_THAT(said({{"ttlSecondsAfterFinished", 0U}}),
              ElementsAre("ttlSecondsAfterFinished: a local run never deletes its folder"));
  EXPECT_THAT(
      said({{"releaseAfterSeconds", 60U}}),
      ElementsAre("releaseAfterSeconds: no other job uses the nodes of a local run, so it frees none"));
  EXPECT_THAT(said({{"cleanPodPolicy", "None"}}),
              ElementsAre("cleanPodPolicy: a local run ignores None, because it ends all its processes"));
  EXPECT_THAT(
      said({{"disruptionPolicy", {{"noticeTaints", {"example.com/going"}}}}}),
      ElementsAre("disruptionPolicy.noticeTaints: a local run uses only the taint ratoon.dev/reclaim"));
  EXPECT_THAT(said({{"topology", {{"packBy", "example.com/rack"}}}}),
              ElementsAre("topology.packBy: a local run has one machine"));
  EXPECT_THAT(said({{"checkpointPolicy", {{"volumeClaimName", "claim"}}}}),
              ElementsAre("checkpointPolicy.volumeClaimName: a local run saves in its own folder instead"));
}

TEST_F(ClusterOnlyFields, WhatATemplateAsksOfAClusterIsNamed) {
  const json sidecar = {
      {"containers",
       {{{"name", "trainer"},
         {"command", {"train"}},
         {"image", "digits:1"},
         {"resources",
          {{"limits", {{"cpu", 2}, {"memory", "1Gi"}, {"example.com/gpu", 1}}}, {"requests", {{"cpu", 1}}}}},
         {"env",
          {{{"name", "LEVEL"}, {"value", "3"}},
           {{"name", "KEY"}, {"valueFrom", {{"secretKeyRef", json::object()}}}}}}},
        {{"name", "proxy"}, {"image", "proxy:1"}}}},
      {"tolerations", json::array()}};
  EXPECT_THAT(
      said(json::object(), sidecar),
      ElementsAre("role worker: a local run ignores these fields of the pod template: tolerations, image, "
                  "resources.requests, resources.limits.example.com/gpu, env KEY (valueFrom), all "
                  "containers but the first"));
}

TEST_F(ClusterOnlyFields, AJobWithoutAFileHasNone) {
  api::TrainingJob job;
  EXPECT_THAT(describe_cluster_only_fields(job), IsEmpty());
}

}  // namespace
}  // namespace ratoon::local::cluster_only_fields_test
