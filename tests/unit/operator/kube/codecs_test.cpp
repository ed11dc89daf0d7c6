#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/contract/codec.h"
#include "operator/kube/pods/member_container.h"
#include "operator/kube/pods/node_codec.h"
#include "operator/kube/pods/pod_codec.h"

namespace ratoon::kube::codecs_test {
namespace {

using nlohmann::json;

json running() {
  return json::parse(R"({
    "metadata": {"name": "j-worker-1-i2", "namespace": "team-a", "uid": "p", "resourceVersion": "9",
      "labels": {"ratoon.dev/job-name": "j", "ratoon.dev/job-uid": "old", "ratoon.dev/role": "worker",
                 "ratoon.dev/index": "1", "ratoon.dev/incarnation": "2"},
      "ownerReferences": [{"uid": "other", "kind": "TrainingJob", "apiVersion": "ratoon.dev/v1alpha1"},
        {"uid": "u", "name": "j", "kind": "TrainingJob", "apiVersion": "ratoon.dev/v1alpha1",
         "controller": true}]},
    "spec": {"nodeName": "n1", "containers": [{"name": "trainer"}, {"name": "sidecar"}]},
    "status": {"phase": "Running"}})");
}

json ended(int exit_code, const std::string& message = "", const std::string& reason = "Error") {
  json pod = running();
  pod["status"] = {
      {"phase", exit_code == 0 ? "Succeeded" : "Failed"},
      {"containerStatuses",
       {{{"name", "sidecar"}, {"state", {{"terminated", {{"exitCode", 7}}}}}},
        {{"name", "trainer"},
         {"state", {{"terminated", {{"exitCode", exit_code}, {"message", message}, {"reason", reason}}}}}}}}};
  return pod;
}

TEST(PodCodec, ReadsWhoseMemberItIs) {
  const auto pod = decode_pod(running());
  ASSERT_TRUE(pod) << pod.error().message();
  EXPECT_EQ(pod->pod, (api::Pod{.name = "j-worker-1-i2",
                                .uid = "p",
                                .role = "worker",
                                .index = 1,
                                .incarnation = 2,
                                .node = "n1",
                                .phase = api::PodPhase::kRunning,
                                .agent = api::PodAgent::kNone}));
  EXPECT_EQ(pod->name_space, "team-a");
  EXPECT_EQ(pod->job_name, "j");
  EXPECT_EQ(pod->job_uid, "u") << "the owner's, not the label's";
  EXPECT_EQ(pod->resource_version, "9");
}

// A user who may change pods may write into the annotation whatever the API server accepts.
TEST(PodCodec, TellsTheAgentByTheVolumesThatTheOperatorAdds) {
  const auto agent_with = [](const json& volumes) {
    json document = running();
    document["spec"]["volumes"] = volumes;
    return decode_pod(document)->pod.agent;
  };
  const json own = {{"name", "data"}};
  const json token = {{"name", kTokenVolume}};
  EXPECT_EQ(agent_with(json::array({own})), api::PodAgent::kNone);
  EXPECT_EQ(agent_with(json::array({own, token})), api::PodAgent::kRatoon);
  EXPECT_EQ(agent_with(json::array({token, {{"name", kLauncherVolume}}})), api::PodAgent::kLauncher);
}

TEST(PodCodec, ItsAvoidedNodesAreFewAndOnlyOfAPodWithoutANode) {
  json pod = running();
  std::string nodes;
  for (int i = 0; i < 60'000; ++i) nodes += "n" + std::to_string(i) + ",";
  pod["metadata"]["annotations"]["ratoon.dev/avoided-nodes"] = nodes;
  EXPECT_TRUE(decode_pod(pod)->pod.avoided_nodes.empty());
  pod["spec"].erase("nodeName");
  EXPECT_EQ(decode_pod(pod)->pod.avoided_nodes.size(), 256u);
  pod["metadata"]["annotations"]["ratoon.dev/avoided-nodes"] = "a,b";
  EXPECT_EQ(decode_pod(pod)->pod.avoided_nodes, std::vector<std::string>({"a", "b"}));
}

TEST(PodCodec, OnlyATrainingJobsPodIsAMember) {
  json pod = running();
  json& owner = pod["metadata"]["ownerReferences"][1];
  for (const char* key : {"uid", "name", "kind", "apiVersion", "controller"}) {
    const json kept = owner[key];
    owner.erase(key);
    EXPECT_FALSE(decode_pod(pod)) << "without " << key;
    owner[key] = kept;
  }
  owner["kind"] = "Job";
  EXPECT_FALSE(decode_pod(pod)) << "its labels are no proof";
  EXPECT_EQ(owning_job_uid(pod), "");
}

TEST(PodCodec, TheTrainersEndIsThePodsWhateverItsNeighboursDo) {
  const auto with = [](const char* phase, const json& trainer, const json& neighbour) {
    json pod = running();
    pod["status"] = {
        {"phase", phase},
        {"containerStatuses",
         {{{"name", "trainer"}, {"state", trainer}}, {{"name", "sidecar"}, {"state", neighbour}}}}};
    return pod;
  };
  const auto ended_with = [](int code) { return json{{"terminated", {{"exitCode", code}}}}; };
  const json runs = {{"running", json::object()}};
  const auto crashed = decode_pod(with("Running", ended_with(1), runs))->pod;
  EXPECT_EQ(crashed.phase, api::PodPhase::kFailed);
  EXPECT_EQ(crashed.exit_code, 1);
  EXPECT_TRUE(crashed.has_running_sidecars);
  const auto done = decode_pod(with("Running", ended_with(0), runs))->pod;
  EXPECT_EQ(done.phase, api::PodPhase::kSucceeded);
  EXPECT_TRUE(done.has_running_sidecars);
  const auto alone = decode_pod(with("Failed", ended_with(0), ended_with(9)))->pod;
  EXPECT_EQ(alone.phase, api::PodPhase::kSucceeded) << "that its neighbour failed is none of its business";
  EXPECT_FALSE(alone.has_running_sidecars);
  const auto trains = decode_pod(with("Running", runs, ended_with(9)))->pod;
  EXPECT_EQ(trains.phase, api::PodPhase::kRunning);
  EXPECT_FALSE(trains.has_running_sidecars);
  json ended = with("Failed", ended_with(0), ended_with(0));
  ended["status"]["reason"] = "Terminated";
  EXPECT_EQ(decode_pod(ended)->pod.phase, api::PodPhase::kFailed) << "it left because its node went";
  EXPECT_TRUE(decode_pod(ended)->pod.is_evicted);
}

// A service mesh's webhook puts its proxy before all other containers.
TEST(PodCodec, AContainerThatAWebhookPutsFirstIsNoTrainer) {
  json pod = running();
  pod["metadata"]["annotations"] = {{"ratoon.dev/trainer", "trainer"}};
  pod["spec"]["containers"] = {{{"name", "istio-proxy"}}, {{"name", "trainer"}}};
  const auto with = [&](const json& trainer) {
    pod["status"] = {{"phase", "Running"},
                     {"containerStatuses",
                      {{{"name", "istio-proxy"}, {"state", {{"running", json::object()}}}},
                       {{"name", "trainer"}, {"state", {{"terminated", trainer}}}}}}};
    return decode_pod(pod)->pod;
  };
  const auto done = with({{"exitCode", 0}});
  EXPECT_EQ(done.phase, api::PodPhase::kSucceeded);
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_TRUE(done.has_running_sidecars) << "the proxy runs on, and its pod is to be deleted";
  const auto failed = with({{"exitCode", 7}, {"message", "no data"}});
  EXPECT_EQ(failed.phase, api::PodPhase::kFailed);
  EXPECT_EQ(failed.exit_code, 7);
  EXPECT_EQ(failed.last_lines, "no data");
  pod["metadata"].erase("annotations");
  EXPECT_EQ(with({{"exitCode", 7}}).phase, api::PodPhase::kRunning) << "who has no such word has it first";
}

TEST(PodCodec, AnInitContainerThatFailsIsTheEnd) {
  json pod = running();
  pod["spec"]["initContainers"] = {
      {{"name", "proxy"}, {"restartPolicy", "Always"}}, {{"name", "fetch"}}, {{"name", "unpack"}}};
  const auto ended_with = [](int code) {
    return json{{"terminated", {{"exitCode", code}, {"message", "no such bucket"}, {"reason", "Error"}}}};
  };
  pod["status"] = {{"phase", "Failed"},
                   {"initContainerStatuses",
                    {{{"name", "unpack"}, {"state", {{"waiting", {{"reason", "PodInitializing"}}}}}},
                     {{"name", "fetch"}, {"state", ended_with(82)}},
                     {{"name", "proxy"}, {"state", ended_with(137)}}}},
                   {"containerStatuses",
                    {{{"name", "trainer"}, {"state", {{"waiting", {{"reason", "PodInitializing"}}}}}}}}};
  const auto failed = decode_pod(pod)->pod;
  EXPECT_EQ(failed.phase, api::PodPhase::kFailed);
  EXPECT_EQ(failed.failed_init_container, "fetch");
  EXPECT_EQ(failed.exit_code, 82);
  EXPECT_EQ(failed.last_lines, "no such bucket");
  EXPECT_FALSE(failed.is_completed);
  pod["status"]["phase"] = "Pending";
  EXPECT_EQ(decode_pod(pod)->pod.failed_init_container, "") << "it is tried again";
  pod["status"] = {{"phase", "Failed"}, {"reason", "Evicted"}};
  EXPECT_EQ(decode_pod(pod)->pod.failed_init_container, "");
}

CompletionRecord done() {
  return {.attempt = Attempt(3),
          .step = Step(100),
          .checkpoint = {.attempt = Attempt(3), .step = Step(100), .digest = "d"}};
}

TEST(PodCodec, TheTrainerIsFoundByNameAndOnlyItsRecordCompletes) {
  const std::string record = encode(done());
  EXPECT_EQ(decode_pod(ended(137))->pod.exit_code, 137);
  EXPECT_FALSE(decode_pod(ended(0))->pod.is_completed) << "exit code 0 is no record";
  EXPECT_FALSE(decode_pod(ended(0, "done"))->pod.is_completed);
  EXPECT_TRUE(decode_pod(ended(1, record))->pod.is_completed);
  EXPECT_EQ(decode_pod(ended(0, record))->pod.last_checkpoint, done().checkpoint);
  for (const int of_agent : {80, 81, 82, 83, 84, 85, 86})
    EXPECT_FALSE(decode_pod(ended(of_agent, record))->pod.is_completed) << of_agent;
  CompletionRecord early = done();
  early.checkpoint.attempt = Attempt(4);
  EXPECT_FALSE(decode_pod(ended(0, encode(early)))->pod.is_completed) << "of an attempt after its own";
  EXPECT_EQ(decode_pod(ended(0, record))->pod.weights, "");
  EXPECT_FALSE(decode_pod(ended(0, R"({"attempt":3,"step":100,"version":1})"))->pod.is_completed)
      << "no run is complete without a checkpoint of its last step";
  CompletionRecord older = done();
  older.step = Step(101);
  EXPECT_FALSE(decode_pod(ended(0, encode(older)))->pod.is_completed) << "nor with one before it";
  CompletionRecord with_weights = done();
  with_weights.weights = "/data/weights.safetensors";
  const std::string naming = encode(with_weights);
  EXPECT_EQ(decode_pod(ended(0, naming))->pod.weights, "/data/weights.safetensors");
  CompletionRecord finished = done();
  finished.finish_reason = "the loss no longer falls";
  EXPECT_EQ(decode_pod(ended(0, encode(finished)))->pod.finish_reason, "the loss no longer falls");
}

TEST(PodCodec, APodThatWaitsSaysSinceWhenAndForWhichScheduler) {
  json pod = running();
  pod["metadata"]["creationTimestamp"] = "2026-11-21T11:38:21Z";
  pod["spec"]["schedulerName"] = "nope";
  pod["status"] = {{"phase", "Pending"}};
  EXPECT_EQ(decode_pod(pod)->pod.scheduler, "nope");
  EXPECT_EQ(decode_pod(pod)->pod.pending_since, parse_rfc3339("2026-11-21T11:38:21Z"));
  pod["status"]["conditions"] = {
      {{"type", "PodScheduled"}, {"status", "True"}, {"lastTransitionTime", "2026-11-21T11:40:00Z"}}};
  EXPECT_EQ(decode_pod(pod)->pod.pending_since, parse_rfc3339("2026-11-21T11:40:00Z")) << "for its kubelet";
  pod["status"]["initContainerStatuses"] = {
      {{"name", "i"}, {"state", {{"running", {{"startedAt", "2026-11-21T11:41:00Z"}}}}}}};
  EXPECT_EQ(decode_pod(pod)->pod.pending_since, std::nullopt) << "an init container runs";
  pod["status"] = {{"phase", "Running"}};
  EXPECT_EQ(decode_pod(pod)->pod.pending_since, std::nullopt);
}

TEST(PodCodec, ThePlatformsDoingIsToldFromTheProgramsOwn) {
  EXPECT_FALSE(decode_pod(ended(1))->pod.is_evicted);
  EXPECT_FALSE(decode_pod(ended(137, "", "OOMKilled"))->pod.is_evicted);
  EXPECT_TRUE(decode_pod(ended(137, "", "ContainerStatusUnknown"))->pod.is_evicted);
  json pod = running();
  pod["status"]["conditions"] = {{{"type", "DisruptionTarget"}, {"status", "False"}}};
  EXPECT_FALSE(decode_pod(pod)->pod.is_evicted);
  pod["status"]["conditions"][0]["status"] = "True";
  EXPECT_TRUE(decode_pod(pod)->pod.is_evicted);
  for (const char* reason : {"Evicted", "OutOfcpu", "Terminated"}) {
    pod["status"] = {{"phase", "Failed"}, {"reason", reason}};
    EXPECT_TRUE(decode_pod(pod)->pod.is_evicted) << reason;
  }
  pod["status"]["reason"] = "DeadlineExceeded";
  EXPECT_FALSE(decode_pod(pod)->pod.is_evicted) << "the user's own bound";
}

TEST(PodCodec, KeepsThePlatformsWordsForAnEnd) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(decode_pod(ended(1, "", "Error"))->pod.end_reasons, Words()) << "says nothing";
  EXPECT_EQ(decode_pod(ended(137, "", "OOMKilled"))->pod.end_reasons, Words({"OOMKilled"}));
  json pod = running();
  pod["status"] = json::parse(R"({"phase": "Failed", "reason": "Evicted",
      "conditions": [{"type": "DisruptionTarget", "status": "False", "reason": "PreemptionByScheduler"}]})");
  EXPECT_EQ(decode_pod(pod)->pod.end_reasons, Words({"Evicted"}));
  pod["status"]["conditions"][0]["status"] = "True";
  EXPECT_EQ(decode_pod(pod)->pod.end_reasons, Words({"PreemptionByScheduler", "Evicted"}));
}

TEST(PodCodec, KeepsTheLastWordsOfATrainerThatFailed) {
  EXPECT_EQ(decode_pod(ended(1, "ratoon: no data\n"))->pod.last_lines, "ratoon: no data\n");
  EXPECT_EQ(decode_pod(ended(0, "bye"))->pod.last_lines, "") << "it did not fail";
  const std::string record = encode(done());
  EXPECT_EQ(decode_pod(ended(1, record))->pod.last_lines, "") << "it is done";
  EXPECT_EQ(decode_pod(ended(1, "a" + std::string(4096, 'b')))->pod.last_lines, std::string(4096, 'b'));
  json pod = ended(1);
  EXPECT_EQ(decode_pod(pod)->pod.ended_at, std::nullopt);
  pod["status"]["containerStatuses"][1]["state"]["terminated"]["finishedAt"] = "2026-11-21T11:38:21Z";
  EXPECT_EQ(decode_pod(pod)->pod.ended_at, parse_rfc3339("2026-11-21T11:38:21Z"));
}

TEST(PodCodec, SaysWhyNoNodeTakesIt) {
  json pod = running();
  pod["status"] = {
      {"phase", "Pending"},
      {"conditions", {{{"type", "PodScheduled"}, {"status", "False"}, {"message", "0/3 nodes"}}}}};
  EXPECT_EQ(decode_pod(pod)->pod.unplaced_reason, "") << "it is placed";
  pod["spec"].erase("nodeName");
  EXPECT_EQ(decode_pod(pod)->pod.unplaced_reason, "0/3 nodes");
  EXPECT_EQ(decode_pod(pod)->pod.phase, api::PodPhase::kPending);
}

TEST(PodCodec, SaysWhyAContainerDoesNotStart) {
  json pod = running();
  const auto wait = [&](const char* list, json waiting) {
    pod["status"] = {{"phase", "Pending"},
                     {list, {{{"name", "c"}, {"state", {{"waiting", std::move(waiting)}}}}}}};
    return decode_pod(pod)->pod.unstarted_reason;
  };
  EXPECT_EQ(wait("containerStatuses", {{"reason", "ContainerCreating"}}), "");
  EXPECT_EQ(wait("containerStatuses", {{"reason", "PodInitializing"}}), "");
  EXPECT_EQ(wait("containerStatuses", {{"reason", "ErrImagePull"}, {"message", "not found"}}),
            "ErrImagePull: not found");
  EXPECT_EQ(wait("initContainerStatuses", {{"reason", "CrashLoopBackOff"}}), "CrashLoopBackOff");
  pod["status"]["phase"] = "Running";
  EXPECT_EQ(decode_pod(pod)->pod.unstarted_reason, "");
}

TEST(PodCodec, APodOfASilentNodeHasNotEnded) {
  json pod = running();
  pod["status"]["phase"] = "Unknown";
  EXPECT_EQ(decode_pod(pod)->pod.phase, api::PodPhase::kRunning);
  pod["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z";
  EXPECT_TRUE(decode_pod(pod)->pod.is_deleting);
  EXPECT_EQ(decode_pod(pod)->pod.ends_at, parse_rfc3339("2026-11-21T00:00:00Z"));
}

// Every value of a pod, one after the other, replaced by every kind of invalid value.
TEST(PodCodec, NonsenseNeverThrows) {
  const json whole = ended(1, "message").flatten();
  const json nonsense[] = {nullptr,
                           5,
                           -1,
                           1e300,
                           18446744073709551615U,
                           true,
                           "x",
                           json::array(),
                           json::array({5}),
                           json::object(),
                           json::array({nullptr, json::array()})};
  for (const auto& [path, value] : whole.items()) {
    for (json::json_pointer at(path); !at.empty(); at.pop_back()) {
      for (const auto& bad : nonsense) {
        json pod = ended(1, "message");
        pod[at] = bad;
        const auto read = decode_pod(pod);
        EXPECT_TRUE(read || read.error().kind() == ErrorKind::kInvalid);
      }
    }
  }
  for (const auto& bad : nonsense) EXPECT_FALSE(decode_pod(bad));
}

TEST(NodeCodec, ReadsWhatTellsWhetherItStays) {
  const auto node = decode_node(json::parse(R"({"metadata": {"name": "n", "deletionTimestamp": "x",
      "labels": {"topology.kubernetes.io/zone": "west-b"}}, "spec": {"unschedulable": true, "taints": [
        {"key": "a", "effect": "NoExecute", "timeAdded": "1970-01-01T00:01:00Z", "value": "v"}, 5,
        {"effect": "NoSchedule"}]}})"));
  ASSERT_TRUE(node);
  EXPECT_EQ(*node, (api::Node{.name = "n",
                              .zone = "west-b",
                              .taints = {{.key = "a",
                                          .effect = "NoExecute",
                                          .added_at = WallTime{std::chrono::seconds(60)},
                                          .value = "v"}},
                              .is_unschedulable = true,
                              .is_deleting = true}));
  EXPECT_FALSE(decode_node(json::parse(R"({"metadata": {}})")));
  EXPECT_EQ(*decode_node(json::parse(R"({"metadata": {"name": "n"}, "spec": 5})")), (api::Node{.name = "n"}));
}

TEST(NodeCodec, TakesTheFactsThatRulesReadAndNoOthers) {
  const json object = json::parse(R"({"metadata": {"name": "n",
      "labels": {"pool": "a", "other": "b", "number": 5}, "annotations": {"due": "1", "other": "b"}},
      "status": {"conditions": [
        {"type": "GpuFault", "status": "True", "lastTransitionTime": "1970-01-01T00:01:00Z",
         "lastHeartbeatTime": "1970-01-01T00:02:00Z"},
        {"type": "GpuFault", "status": "False"}, {"type": "Other", "status": "True"}]}})");
  const api::NodeFactKeys keys{
      .labels = {"pool", "number", "absent"}, .annotations = {"due"}, .conditions = {"GpuFault"}};
  const auto since = WallTime{std::chrono::seconds(60)};
  EXPECT_EQ(*decode_node(object, keys),
            (api::Node{.name = "n",
                       .labels = {{"pool", "a"}},
                       .annotations = {{"due", "1"}},
                       .conditions = {{.type = "GpuFault", .status = "True", .since = since}}}));
  EXPECT_EQ(*decode_node(object), api::Node{.name = "n"});
  for (const char* field : {"labels", "annotations"}) {
    json bad = object;
    bad["metadata"][field] = {"pool"};
    EXPECT_TRUE(decode_node(bad, keys));
  }
}

TEST(NodeCodec, KnowsSinceWhenANodeShutsDown) {
  const auto read = [](const std::string& status) {
    const json ready = {{"type", "Ready"},
                        {"status", status},
                        {"message", "node is shutting down"},
                        {"lastTransitionTime", "1970-01-01T00:01:00Z"}};
    return *decode_node({{"metadata", {{"name", "n"}}}, {"status", {{"conditions", {ready}}}}});
  };
  EXPECT_EQ(read("False").shutting_down_since, WallTime{std::chrono::seconds(60)});
  EXPECT_EQ(read("True").shutting_down_since, std::nullopt);
}

TEST(NodeCodec, TellsAShutdownFromOtherReasonsToBeNotReady) {
  const auto is_shutting_down = [](const std::string& status, const std::string& message) {
    const json ready = {
        {"type", "Ready"}, {"status", status}, {"reason", "KubeletNotReady"}, {"message", message}};
    return decode_node({{"metadata", {{"name", "n"}}}, {"status", {{"conditions", {ready}}}}})
        ->is_shutting_down;
  };
  EXPECT_TRUE(is_shutting_down("False", "node is shutting down"));
  EXPECT_TRUE(is_shutting_down("False", "[container runtime is down, node is shutting down]"));
  EXPECT_FALSE(is_shutting_down("False", "container runtime is down"));
  EXPECT_FALSE(is_shutting_down("True", "kubelet is posting ready status"));
}

}  // namespace
}  // namespace ratoon::kube::codecs_test
