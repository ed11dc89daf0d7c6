#include "operator/kube/pods/member_pod.h"

#include <array>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace ratoon::kube::member_pod_test {
namespace {

using nlohmann::json;

json document() {
  return json::parse(R"({
    "apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "digits", "namespace": "team-a", "uid": "u"},
    "spec": {"numNodes": 2, "checkpointPolicy": {"volumeClaimName": "ckpt", "intervalSteps": 7},
      "roles": [{"name": "worker", "template": {
        "metadata": {"labels": {"team": "a"}, "annotations": {"prometheus.io/scrape": "false"}},
        "spec": {"containers": [{"name": "trainer", "image": "i", "command": ["train"],
          "env": [{"name": "LR", "value": "0.1"}, {"name": "RATOON_INDEX", "value": "77"},
                  {"name": "RATOON_KEEP_LAST", "value": "9"}]},
          {"name": "sidecar", "image": "s"}]}}}]},
    "status": {"phase": "Pending", "attempt": 4, "worldSize": 0,
       "restarts": {"application": 0, "disruption": 0},
               "progress": {"step": 0}}})");
}

Result<json> make(const json& job, const NodesToAvoid& shunned = {}) {
  const auto decoded = api::decode_training_job(job);
  if (!decoded) return decoded.error();
  const api::Pod member{.name = "digits-worker-1-i2", .role = "worker", .index = 1, .incarnation = 2};
  return make_member_pod(*decoded, member, shunned, {.coordinator_url = "http://10.0.0.1:9443"});
}

json& pod_spec(json& job) {
  return job["spec"]["roles"][0]["template"]["spec"];
}

std::map<std::string, json> environment(const json& pod) {
  std::map<std::string, json> out;
  for (const auto& item : pod["spec"]["containers"][0]["env"]) {
    EXPECT_FALSE(out.contains(item["name"].get<std::string>())) << item << " stands twice";
    out[item["name"].get<std::string>()] = item.contains("value") ? item["value"] : item["valueFrom"];
  }
  return out;
}

TEST(MemberPod, SaysWhoItIs) {
  const auto pod = make(document());
  ASSERT_TRUE(pod) << pod.error().message();
  const json& meta = (*pod)["metadata"];
  EXPECT_EQ(meta["name"], "digits-worker-1-i2");
  EXPECT_EQ(meta["namespace"], "team-a");
  EXPECT_EQ(meta["labels"],
            json::parse(R"({"team": "a", "ratoon.dev/job-name": "digits", "ratoon.dev/job-uid": "u",
      "ratoon.dev/role": "worker", "ratoon.dev/index": "1", "ratoon.dev/incarnation": "2"})"));
  EXPECT_EQ(meta["annotations"],
            json::parse(R"({"prometheus.io/scrape": "false", "prometheus.io/port": "9400",
      "prometheus.io/path": "/metrics", "ratoon.dev/trainer": "trainer", "ratoon.dev/init-containers": "",
      "ratoon.dev/made-for-attempt": "4"})"));
  EXPECT_EQ(meta["ownerReferences"],
            json::parse(R"([{"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob",
      "name": "digits", "uid": "u", "controller": true, "blockOwnerDeletion": true}])"));
}

TEST(MemberPod, WordsOfTheCommandAreByteForByteThoseOfTheJob) {
  const std::array<std::string, 12> pieces{
      "[64,32]", "$(RATOON_INDEX)", "$$(A)", "--", " ", "\"", "'", "\\n", "\n", "%s", "*?", "\u00e9\u4e2d"};
  std::mt19937 draw(7);
  for (int world = 0; world < 50; ++world) {
    json job = document();
    json& container = pod_spec(job)["containers"][0];
    for (const char* field : {"command", "args"}) {
      container[field] = json::array();
      for (auto left = 1 + draw() % 9; left > 0; --left) {
        std::string word;
        for (auto piece = draw() % 4; piece > 0; --piece) word += pieces[draw() % pieces.size()];
        container[field].push_back(word);
      }
    }
    const auto pod = make(job);
    ASSERT_TRUE(pod) << pod.error().message();
    const json& made = (*pod)["spec"]["containers"][0];
    EXPECT_EQ(made["command"], container["command"]);
    EXPECT_EQ(made["args"], container["args"]);
  }
}

// As after `kubectl get pod -o yaml`: the pasted text belongs to a pod that was made for other nodes.
TEST(MemberPod, WhatATemplateSaysInOurNameIsLeftOut) {
  json job = document();
  json& meta = job["spec"]["roles"][0]["template"]["metadata"];
  const json clean = (*make(job))["metadata"];
  meta["annotations"]["ratoon.dev/avoided-nodes"] = "node-1,node-2";
  meta["annotations"]["ratoon.dev/meets"] = "another";
  meta["annotations"]["ratoon.dev/trainer"] = "sidecar";
  meta["annotations"]["ratoon.devices/rack"] = "r1";
  meta["labels"]["ratoon.dev/index"] = "7";
  meta["labels"]["ratoon.dev/later"] = "x";
  json made = (*make(job))["metadata"];
  EXPECT_EQ(made["annotations"]["ratoon.devices/rack"], "r1") << "of another group";
  made["annotations"].erase("ratoon.devices/rack");
  EXPECT_EQ(made, clean);
}

TEST(MemberPod, TheTrainerLearnsEverythingAndTheUsersHabitsWin) {
  auto env = environment(*make(document()));
  const std::map<std::string, json> expected = {
      {"RATOON_JOB_NAMESPACE", "team-a"},
      {"RATOON_JOB_NAME", "digits"},
      {"RATOON_JOB_UID", "u"},
      {"RATOON_ROLE", "worker"},
      {"RATOON_INDEX", "1"},
      {"RATOON_INCARNATION", "2"},
      {"RATOON_MEMBER_UID", json::parse(R"({"fieldRef": {"fieldPath": "metadata.uid"}})")},
      {"RATOON_POD_IP", json::parse(R"({"fieldRef": {"fieldPath": "status.podIP"}})")},
      {"RATOON_PROCESSES_PER_NODE", "1"},
      {"LOCAL_RANK", "0"},
      {"RATOON_COORDINATOR_URL", "http://10.0.0.1:9443"},
      {"RATOON_TOKEN_FILE", "/var/run/secrets/ratoon.dev/token"},
      {"RATOON_SAVE_FOLDER", "/ratoon/checkpoints"},
      {"RATOON_RUN_NAME", "digits"},
      {"RATOON_SAVE_EVERY_STEPS", "7"},
      {"RATOON_KEEP_LAST", "9"},
      {"RATOON_TERMINATION_FILE", "/dev/termination-log"},
      {"RATOON_METRICS_PORT", "9400"},
      {"LR", "0.1"}};
  EXPECT_EQ(env, expected);
}

TEST(MemberPod, OverTlsTheTrainerLearnsWhomToBelieve) {
  json job = document();
  job["spec"]["roles"][0]["template"]["spec"]["containers"][0]["env"].push_back(
      {{"name", "RATOON_COORDINATOR_CA"}, {"value", "somebody's"}});
  const PodSettings settings{
      .coordinator_url = "https://10.0.0.1:9443", .coordinator_ca = "pem", .coordinator_name = "door.t.svc"};
  api::Pod member{.name = "digits-worker-1-i2", .role = "worker", .index = 1, .incarnation = 2};
  const auto env = environment(*make_member_pod(*api::decode_training_job(job), member, {}, settings));
  EXPECT_EQ(env.at("RATOON_COORDINATOR_URL"), "https://10.0.0.1:9443");
  EXPECT_EQ(env.at("RATOON_COORDINATOR_CA"), "pem");
  EXPECT_EQ(env.at("RATOON_COORDINATOR_NAME"), "door.t.svc");
  member.group_rank_assignment = api::GroupRankAssignment{.first_rank = 0, .world_size = 2};
  const auto alone =
      environment(*make_member_pod(*api::decode_training_job(document()), member, {}, settings));
  EXPECT_FALSE(alone.contains("RATOON_COORDINATOR_CA")) << "it calls nobody";
  EXPECT_FALSE(alone.contains("RATOON_COORDINATOR_NAME"));
}

TEST(MemberPod, OfSeveralProcessesTheLauncherSaysWhichIsWhich) {
  json job = document();
  job["spec"]["processesPerNode"] = 8U;
  const auto env = environment(*make(job));
  EXPECT_EQ(env.at("RATOON_PROCESSES_PER_NODE"), "8");
  EXPECT_FALSE(env.contains("LOCAL_RANK"));
}

TEST(MemberPod, WhomTheTemplateRunsAsAndWhatItMayAskStay) {
  json job = document();
  EXPECT_EQ((*make(job))["spec"]["automountServiceAccountToken"], false) << "unless asked for";
  EXPECT_FALSE((*make(job))["spec"].contains("serviceAccountName"));
  pod_spec(job)["automountServiceAccountToken"] = true;
  pod_spec(job)["serviceAccountName"] = "trainers";
  const json spec = (*make(job))["spec"];
  EXPECT_EQ(spec["automountServiceAccountToken"], true);
  EXPECT_EQ(spec["serviceAccountName"], "trainers");
}

TEST(MemberPod, ADeadTrainerIsNotStartedAgainInPlaceAndInitContainersLeaveTheirWords) {
  json job = document();
  pod_spec(job)["initContainers"] = {{{"name", "fetch"}},
                                     {{"name", "own"}, {"terminationMessagePolicy", "File"}}};
  pod_spec(job)["containers"][0]["restartPolicy"] = "Always";
  pod_spec(job)["containers"][0]["restartPolicyRules"] = json::array();
  const json pod = *make(job), &spec = pod["spec"];
  EXPECT_EQ(pod["metadata"]["annotations"]["ratoon.dev/init-containers"], "fetch,own");
  EXPECT_FALSE(spec["containers"][0].contains("restartPolicy"));
  EXPECT_FALSE(spec["containers"][0].contains("restartPolicyRules"));
  EXPECT_EQ(spec["initContainers"][0]["terminationMessagePolicy"], "FallbackToLogsOnError");
  EXPECT_EQ(spec["initContainers"][1]["terminationMessagePolicy"], "File") << "what the template says";
}

Result<json> make_without_agent(const api::GroupRankAssignment& seat) {
  json job = document();
  job["spec"]["roles"][0]["agent"] = "None";
  api::Pod member{.name = "digits-worker-1-i2", .role = "worker", .index = 1, .incarnation = 2};
  member.group_rank_assignment = seat;
  return make_member_pod(*api::decode_training_job(job), member, {},
                         {.coordinator_url = "http://10.0.0.1:9443"});
}

TEST(MemberPod, AProgramWithoutTheAgentLearnsItsRankAndWhereToMeet) {
  const auto pod = make_without_agent({.master_address = "10.1.2.3", .first_rank = 1, .world_size = 2});
  ASSERT_TRUE(pod) << pod.error().message();
  auto env = environment(*pod);
  EXPECT_EQ(env["MASTER_ADDR"], "10.1.2.3");
  EXPECT_EQ(env["MASTER_PORT"], "29500");
  EXPECT_EQ(env["RANK"], "1");
  EXPECT_EQ(env["WORLD_SIZE"], "2");
  EXPECT_EQ(env["LOCAL_RANK"], "0");
  EXPECT_EQ(env["RATOON_SAVE_FOLDER"], "/ratoon/checkpoints");
  for (const char* absent :
       {"RATOON_COORDINATOR_URL", "RATOON_TOKEN_FILE", "RATOON_METRICS_PORT", "RATOON_TERMINATION_FILE"})
    EXPECT_FALSE(env.contains(absent)) << absent;
  const json& trainer = (*pod)["spec"]["containers"][0];
  EXPECT_FALSE(trainer.contains("ports"));
  EXPECT_EQ(trainer["volumeMounts"].size(), 1U) << "the claim, and no token";
  EXPECT_EQ((*pod)["spec"]["volumes"].size(), 1U);
  EXPECT_FALSE((*pod)["metadata"]["annotations"].contains("prometheus.io/port"));
}

TEST(MemberPod, TheFirstOfThoseWithoutTheAgentIsMetAtItsOwnAddress) {
  EXPECT_EQ(environment(*make_without_agent({.first_rank = 0, .world_size = 2}))["MASTER_ADDR"],
            json::parse(R"({"fieldRef": {"fieldPath": "status.podIP"}})"));
}

json launched_document() {
  json job = document();
  job["spec"]["roles"][0]["agent"] = "Launcher";
  job["spec"]["roles"][0]["template"]["spec"]["containers"][0]["args"] = json::array({"--lr", "0.1"});
  return job;
}

Result<json> make_launched(const json& job, const std::string& image = "ratoon-operator:dev") {
  const auto decoded = api::decode_training_job(job);
  if (!decoded) return decoded.error();
  const api::Pod member{.name = "digits-worker-1-i2", .role = "worker", .index = 1, .incarnation = 2};
  return make_member_pod(*decoded, member, {},
                         {.coordinator_url = "https://10.0.0.1:9443",
                          .coordinator_ca = "pem",
                          .launcher_image = image,
                          .launcher_pull_policy = "IfNotPresent"});
}

TEST(MemberPod, TheLauncherIsCopiedIntoThePodAndStartsTheCommand) {
  json job = launched_document();
  pod_spec(job)["initContainers"] = {{{"name", "fetch"}}};
  const auto pod = make_launched(job);
  ASSERT_TRUE(pod) << pod.error().message();
  const json& spec = (*pod)["spec"];
  ASSERT_EQ(spec["initContainers"].size(), 2U);
  const json& installer = spec["initContainers"][0];
  EXPECT_EQ(installer["image"], "ratoon-operator:dev");
  EXPECT_EQ(installer["imagePullPolicy"], "IfNotPresent");
  EXPECT_EQ(
      installer["command"],
      json::parse(R"(["/usr/local/bin/ratoon-launcher", "--install", "/ratoon/launcher/ratoon-launcher"])"));
  EXPECT_EQ(installer["resources"]["limits"], installer["resources"]["requests"])
      << "the class of service stays";
  EXPECT_EQ(installer["terminationMessagePolicy"], "FallbackToLogsOnError");
  EXPECT_EQ(spec["initContainers"][1]["name"], "fetch");
  const json& trainer = spec["containers"][0];
  EXPECT_EQ(trainer["command"], json::parse(R"(["/ratoon/launcher/ratoon-launcher", "--", "train"])"));
  EXPECT_EQ(trainer["args"], json::parse(R"(["--lr", "0.1"])"));
  EXPECT_EQ(trainer["terminationMessagePolicy"], "FallbackToLogsOnError");
  EXPECT_FALSE(trainer.contains("ports")) << "the program serves no metrics of ours";
  std::map<std::string, json> mounts;
  for (const auto& mount : trainer["volumeMounts"])
    mounts[mount["name"].get<std::string>()] = mount["mountPath"];
  EXPECT_EQ(mounts, (std::map<std::string, json>{{"ratoon-token", "/var/run/secrets/ratoon.dev"},
                                                 {"ratoon-launcher", "/ratoon/launcher"},
                                                 {"ratoon-checkpoints", "/ratoon/checkpoints"}}));
  EXPECT_FALSE((*pod)["metadata"]["annotations"].contains("prometheus.io/port"));
}

TEST(MemberPod, ALauncherLearnsTheCoordinatorAndThePortOfRankZero) {
  const auto env = environment(*make_launched(launched_document()));
  EXPECT_EQ(env.at("RATOON_COORDINATOR_URL"), "https://10.0.0.1:9443");
  EXPECT_EQ(env.at("RATOON_COORDINATOR_CA"), "pem");
  EXPECT_EQ(env.at("RATOON_TOKEN_FILE"), "/var/run/secrets/ratoon.dev/token");
  EXPECT_EQ(env.at("RATOON_NOTICE_FILE"), "/ratoon/launcher/notice.json");
  EXPECT_EQ(env.at("MASTER_PORT"), "29500");
  for (const char* absent :
       {"RANK", "WORLD_SIZE", "MASTER_ADDR", "RATOON_METRICS_PORT", "RATOON_TERMINATION_FILE"})
    EXPECT_FALSE(env.contains(absent)) << absent;
}

TEST(MemberPod, ALauncherThatNobodyCanCopyIsRefused) {
  const std::string message = make_launched(launched_document(), "").error().message();
  EXPECT_NE(message.find("--launcher-image"), std::string::npos) << message;
  json job = launched_document();
  pod_spec(job)["volumes"] = {{{"name", "ratoon-launcher"}}};
  EXPECT_NE(make_launched(job).error().message().find("rename the volume"), std::string::npos);
}

TEST(MemberPod, OnlyTheTrainerIsChanged) {
  const auto pod = make(document());
  EXPECT_EQ((*pod)["spec"]["containers"][1], json::parse(R"({"name": "sidecar", "image": "s"})"));
  const json& trainer = (*pod)["spec"]["containers"][0];
  EXPECT_EQ(trainer["terminationMessagePolicy"], "FallbackToLogsOnError");
  EXPECT_EQ(trainer["ports"][0]["containerPort"], 9400);
  EXPECT_EQ(trainer["volumeMounts"].size(), 2u);
  EXPECT_EQ(trainer["volumeMounts"][0]["readOnly"], true);
  EXPECT_EQ((*pod)["spec"]["restartPolicy"], "Never");
  EXPECT_EQ((*pod)["spec"]["automountServiceAccountToken"], false);
  EXPECT_EQ((*pod)["spec"]["volumes"][0]["projected"]["sources"][0]["serviceAccountToken"],
            json::parse(R"({"audience": "ratoon", "expirationSeconds": 3600, "path": "token"})"));
  EXPECT_EQ((*pod)["spec"]["volumes"][1]["persistentVolumeClaim"]["claimName"], "ckpt");
}

TEST(MemberPod, EachProcessHasAPortForItsMetrics) {
  json job = document();
  job["spec"]["processesPerNode"] = 3U;
  const auto ports_of = [&] {
    std::map<std::string, int> found;
    const auto pod = make(job);
    EXPECT_TRUE(pod) << pod.error().message();
    for (const auto& port : (*pod)["spec"]["containers"][0]["ports"])
      found[port["name"].get<std::string>()] = port["containerPort"].get<int>();
    return found;
  };
  using Ports = std::map<std::string, int>;
  EXPECT_EQ(ports_of(), (Ports{{"metrics", 9400}, {"metrics-1", 9401}, {"metrics-2", 9402}}));
  pod_spec(job)["containers"][0]["ports"] = json::parse(R"([{"name": "own", "containerPort": 9401}])");
  EXPECT_EQ(ports_of(), (Ports{{"own", 9401}, {"metrics", 9400}, {"metrics-2", 9402}}));
}

TEST(MemberPod, WithoutAClaimTheTemplateSaysWhereToSave) {
  json job = document();
  job["spec"]["checkpointPolicy"].erase("volumeClaimName");
  EXPECT_FALSE(environment(*make(job)).contains("RATOON_SAVE_FOLDER"));
  pod_spec(job)["containers"][0]["env"].push_back({{"name", "RATOON_SAVE_FOLDER"}, {"value", "/own"}});
  EXPECT_EQ(environment(*make(job))["RATOON_SAVE_FOLDER"], "/own");
}

TEST(MemberPod, AHomeInAnObjectStoreNeedsNoVolume) {
  json job = document();
  job["spec"]["checkpointPolicy"].erase("volumeClaimName");
  job["spec"]["checkpointPolicy"]["home"] = "s3://bucket/runs";
  const json pod = *make(job);
  EXPECT_EQ(environment(pod)["RATOON_SAVE_FOLDER"], "s3://bucket/runs");
  for (const auto& volume : pod["spec"]["volumes"])
    EXPECT_FALSE(volume.contains("persistentVolumeClaim")) << volume;
}

TEST(MemberPod, StagesInMemoryThatItAskedFor) {
  json job = document();
  const json without = *make(job);
  for (const auto& volume : without["spec"]["volumes"]) EXPECT_FALSE(volume.contains("emptyDir"));
  EXPECT_FALSE(environment(without).contains("RATOON_STAGING_FOLDER"));

  job["spec"]["checkpointPolicy"]["stagingMemory"] = "2Gi";
  const json pod = *make(job);
  EXPECT_EQ(pod["spec"]["volumes"][2], json::parse(R"({"name": "ratoon-staging",
      "emptyDir": {"medium": "Memory", "sizeLimit": "2048Mi"}})"));
  EXPECT_EQ(pod["spec"]["containers"][0]["volumeMounts"][2],
            json::parse(R"({"name": "ratoon-staging", "mountPath": "/ratoon/staging"})"));
  auto env = environment(pod);
  EXPECT_EQ(env["RATOON_STAGING_FOLDER"], "/ratoon/staging");
  EXPECT_EQ(env["RATOON_STAGING_MEMORY_MIB"], "2048");
  pod_spec(job)["volumes"] = {{{"name", "ratoon-staging"}}};
  EXPECT_FALSE(make(job));
}

TEST(MemberPod, RefusesWhatItCannotDo) {
  json job = document();
  job["spec"]["roles"][0]["agent"] = "None";
  job["spec"]["processesPerNode"] = 8U;
  EXPECT_EQ(
      make(job).error().message(),
      "role worker: processesPerNode is 8, but a pod without the agent has one process: set it to 1 and "
      "raise numNodes");
  job = document();
  pod_spec(job)["volumes"] = {{{"name", "ratoon-token"}}};
  EXPECT_FALSE(make(job));
  job = document();
  job["metadata"].erase("uid");
  EXPECT_FALSE(make(job));
  job = document();
  job["spec"]["roles"][0]["name"] = "other";
  EXPECT_EQ(make(job).error().message(), "pod digits-worker-1-i2: the job has no role 'worker'");
}

TEST(MemberPod, HasTheGraceOfTheCheckpointPolicy) {
  json job = document();
  EXPECT_FALSE((*make(job))["spec"].contains("terminationGracePeriodSeconds")) << "the platform's own";
  job["spec"]["checkpointPolicy"]["graceSeconds"] = 60U;
  EXPECT_EQ((*make(job))["spec"]["terminationGracePeriodSeconds"], 60);
  pod_spec(job)["terminationGracePeriodSeconds"] = 90;
  EXPECT_EQ((*make(job))["spec"]["terminationGracePeriodSeconds"], 90) << "the template's is longer";
}

TEST(MemberPod, TheTrainerLearnsTheGraceThatItsPodHas) {
  json job = document();
  EXPECT_FALSE(environment(*make(job)).contains("RATOON_GRACE_SECONDS"))
      << "the platform's own is the agent's";
  job["spec"]["checkpointPolicy"]["graceSeconds"] = 60U;
  EXPECT_EQ(environment(*make(job))["RATOON_GRACE_SECONDS"], "60");
  pod_spec(job)["terminationGracePeriodSeconds"] = 90;
  EXPECT_EQ(environment(*make(job))["RATOON_GRACE_SECONDS"], "90") << "the template's is longer";
  job["spec"]["checkpointPolicy"].erase("graceSeconds");
  EXPECT_EQ(environment(*make(job))["RATOON_GRACE_SECONDS"], "90") << "and alone";
  pod_spec(job)["containers"][0]["env"].push_back({{"name", "RATOON_GRACE_SECONDS"}, {"value", "45"}});
  EXPECT_EQ(environment(*make(job))["RATOON_GRACE_SECONDS"], "45") << "a user may know of a sidecar's share";
}

}  // namespace
}  // namespace ratoon::kube::member_pod_test
