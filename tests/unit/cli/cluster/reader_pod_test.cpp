#include "cli/cluster/reader/reader_pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/cluster/reader/reader_container.h"
#include "cli/cluster/reader/save_place.h"

namespace ratoon::cli::reader_pod_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr const char* kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

json job_document() {
  return json::parse(R"({
    "apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "digits", "namespace": "prod", "uid": "u-1"},
    "spec": {
      "numNodes": 3,
      "roles": [{"name": "worker", "template": {"spec": {"containers": [
        {"name": "trainer", "image": "example.org/train:1", "command": ["digits"]}]}}}]},
    "status": {
      "phase": "Running", "attempt": 1, "worldSize": 3, "restarts": {"application": 0, "disruption": 0},
      "progress": {"step": 10}, "operatorImage": "example.org/ratoon-operator:1",
      "members": [{"role": "worker", "index": 1, "incarnation": 0, "uid": "p1", "node": "n1"},
                  {"role": "worker", "index": 0, "incarnation": 0, "uid": "p0", "node": "n0"},
                  {"role": "worker", "index": 2, "incarnation": 0, "uid": "p2", "node": "n2"}]}})");
}

json& pod_spec_in(json& document) {
  return document["spec"]["roles"][0]["template"]["spec"];
}

json& trainer_in(json& document) {
  return pod_spec_in(document)["containers"][0];
}

api::TrainingJob job_of(const json& document) {
  const auto job = api::decode_training_job(document);
  EXPECT_TRUE(job) << (job ? "" : job.error().message());
  return job ? *job : api::TrainingJob();
}

json claim_document() {
  json document = job_document();
  document["spec"]["checkpointPolicy"] = {{"volumeClaimName", "runs"}};
  return document;
}

const ReaderRequest kList = {.words = {"checkpoint", "list"}, .seconds_max = 60};

json pod_of(const json& document, const ReaderRequest& request = kList) {
  const auto pod = make_reader_pod(job_of(document), request);
  EXPECT_TRUE(pod) << (pod ? "" : pod.error().message());
  return pod ? *pod : json();
}

std::string refusal_of(const json& document, const ReaderRequest& request = kList) {
  const auto pod = make_reader_pod(job_of(document), request);
  return pod ? "" : pod.error().message();
}

json container_of(const json& pod) {
  return pod["spec"]["containers"][0];
}

std::string last_word(const json& pod) {
  return container_of(pod)["args"].back().get<std::string>();
}

// Returns null if the container has no such variable.
json variable_in(const json& pod, const std::string& name) {
  const json container = container_of(pod);
  for (const json& item : container["env"])
    if (item["name"] == name) return item;
  return nullptr;
}

TEST(ReaderPodTest, ItRunsTheOperatorsImageBesideTheFirstMember) {
  const json pod = pod_of(claim_document());
  const json container = container_of(pod);
  EXPECT_EQ(container["image"], "example.org/ratoon-operator:1");
  EXPECT_EQ(container["command"], json::array({"ratoon"}));
  EXPECT_EQ(container["args"],
            json::array({"relay", "--", "checkpoint", "list", "$(RATOON_SAVE_FOLDER)/$(RATOON_RUN_NAME)"}));
  EXPECT_EQ(pod["spec"]["restartPolicy"], "Never");
  EXPECT_EQ(pod["spec"]["activeDeadlineSeconds"], 60);
  EXPECT_EQ(pod["spec"]["automountServiceAccountToken"], false);
  const json affinity = pod["spec"]["affinity"]["nodeAffinity"];
  EXPECT_FALSE(affinity.contains(kRequired)) << "any node mounts a shared volume";
  EXPECT_EQ(affinity[kPreferred][0]["preference"]["matchFields"][0]["values"], json::array({"n0"}))
      << "a volume of one node at a time";
  EXPECT_EQ(container_of(pod_of(claim_document(), {.words = {}, .image = "own:2"}))["image"], "own:2");
}

TEST(ReaderPodTest, TheJobOwnsItAndTheOperatorTakesItForNoMember) {
  json document = claim_document();
  document["spec"]["roles"][0]["template"]["metadata"] = json::parse(R"({
    "labels": {"team": "vision", "ratoon.dev/job-uid": "u-1", "kueue.x-k8s.io/queue-name": "q",
               "azure.workload.identity/use": "true"},
    "annotations": {"ratoon.dev/trainer": "trainer", "sidecar.istio.io/inject": "false"}})");
  const json metadata = pod_of(document)["metadata"];
  EXPECT_EQ(metadata["generateName"], "digits-reader-");
  EXPECT_EQ(metadata["namespace"], "prod");
  EXPECT_EQ(metadata["labels"], json::parse(R"({"team": "vision", "azure.workload.identity/use": "true",
                                               "app.kubernetes.io/managed-by": "kubectl-ratoon"})"));
  EXPECT_EQ(metadata["annotations"], json::parse(R"({"sidecar.istio.io/inject": "false"})"));
  ASSERT_EQ(metadata["ownerReferences"].size(), 1u);
  EXPECT_EQ(metadata["ownerReferences"][0], json::parse(R"({"apiVersion": "ratoon.dev/v1alpha1",
                                                           "kind": "TrainingJob", "name": "digits",
                                                           "uid": "u-1"})"))
      << "no controller: the operator would take it for a member";
}

struct PlaceCase {
  const char* what;
  const char* volumes;   // of the template
  const char* mounts;    // of its trainer
  const char* saves_in;  // status.saveLocation
  const char* read;      // the names of the volumes that the reader mounts, or the end of a refusal
};

TEST(ReaderPodTest, ItMountsTheVolumesThatOutliveAPodForReading) {
  const PlaceCase cases[] = {
      {"a claim", R"([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])",
       R"([{"name": "v", "mountPath": "/data", "mountPropagation": "HostToContainer"}])", "/data/digits",
       "v"},
      {"a file share", R"([{"name": "v", "nfs": {"server": "s", "path": "/p"}}])",
       R"([{"name": "v", "mountPath": "/data", "subPath": "a"}])", "/data/digits", "v"},
      {"a Secret with credentials",
       R"([{"name": "s", "secret": {"secretName": "aws"}}, {"name": "unused", "emptyDir": {}}])",
       R"([{"name": "s", "mountPath": "/aws"}])", "s3://bucket/runs/digits", "s"},
      {"memory beside a claim",
       R"([{"name": "m", "emptyDir": {"medium": "Memory"}},
           {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])",
       R"([{"name": "m", "mountPath": "/dev/shm"}, {"name": "v", "mountPath": "/data/"}])", "/data/digits",
       "v"},
      {"a volume of the pod", R"([{"name": "v", "emptyDir": {}}])",
       R"([{"name": "v", "mountPath": "/data"}])", "/data/digits",
       "the volume 'v' ends with the member's pod; save on a volume or in an object store"},
      {"a volume without a source", R"([{"name": "v"}])", R"([{"name": "v", "mountPath": "/data"}])",
       "/data/digits", "the volume 'v' ends with the member's pod"},
      {"a claim that the pod makes", R"([{"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}])",
       R"([{"name": "v", "mountPath": "/data"}])", "/data/digits",
       "the volume 'v' ends with the member's pod"},
      {"a volume of the pod below a claim",
       R"([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "w", "emptyDir": {}}])",
       R"([{"name": "v", "mountPath": "/data"}, {"name": "w", "mountPath": "/data/runs"}])",
       "/data/runs/digits", "the volume 'w' ends with the member's pod"},
      {"no volume", "[]", "[]", "/data/digits", "no volume is mounted there"},
      {"a mount with a similar name", R"([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])",
       R"([{"name": "v", "mountPath": "/data"}])", "/data2/digits", "no volume is mounted there"},
      {"a relative path", "[]", "[]", "runs/digits", "relative to the working folder"}};
  for (const PlaceCase& each : cases) {
    SCOPED_TRACE(each.what);
    json document = job_document();
    pod_spec_in(document)["volumes"] = json::parse(each.volumes);
    trainer_in(document)["volumeMounts"] = json::parse(each.mounts);
    document["status"]["saveLocation"] = each.saves_in;
    const auto pod = make_reader_pod(job_of(document), kList);
    if (!pod) {
      EXPECT_THAT(pod.error().message(), HasSubstr(each.read));
      continue;
    }
    ASSERT_EQ((*pod)["spec"]["volumes"].size(), 1u) << "what is not mentioned here is not needed";
    EXPECT_EQ((*pod)["spec"]["volumes"][0]["name"], each.read);
    const json mounts = container_of(*pod)["volumeMounts"];
    ASSERT_EQ(mounts.size(), 1u);
    EXPECT_EQ(mounts[0]["name"], each.read);
    EXPECT_TRUE(mounts[0].value("readOnly", false));
    EXPECT_FALSE(mounts[0].contains("mountPropagation"));
    EXPECT_EQ(last_word(*pod), each.saves_in);
  }
}

TEST(ReaderPodTest, TheJobsClaimIsMountedWhereMembersHaveIt) {
  const json pod = pod_of(claim_document());
  EXPECT_EQ(pod["spec"]["volumes"], json::parse(R"([{"name": "ratoon-checkpoints",
                                                    "persistentVolumeClaim": {"claimName": "runs"}}])"));
  EXPECT_EQ(container_of(pod)["volumeMounts"],
            json::parse(
                R"([{"name": "ratoon-checkpoints", "mountPath": "/ratoon/checkpoints", "readOnly": true}])"));
  EXPECT_EQ(variable_in(pod, "RATOON_SAVE_FOLDER")["value"], "/ratoon/checkpoints");
  EXPECT_EQ(variable_in(pod, "RATOON_RUN_NAME")["value"], "digits");
}

TEST(ReaderPodTest, AVolumeOfANodeIsReadOnThisNode) {
  json document = job_document();
  pod_spec_in(document)["volumes"] = json::parse(R"([{"name": "v", "hostPath": {"path": "/nvme"}}])");
  pod_spec_in(document)["affinity"] = json::parse(R"({
    "podAffinity": {},
    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
      {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},
      {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}]}}})");
  trainer_in(document)["volumeMounts"] = json::parse(R"([{"name": "v", "mountPath": "/data"}])");
  document["status"]["saveLocation"] = "/data/digits";
  const json affinity = pod_of(document)["spec"]["affinity"];
  EXPECT_FALSE(affinity.contains("podAffinity"));
  const json terms = affinity["nodeAffinity"][kRequired]["nodeSelectorTerms"];
  ASSERT_EQ(terms.size(), 2u);
  for (const json& term : terms) {
    EXPECT_EQ(term["matchFields"][0]["values"], json::array({"n0"})) << "one term alone would suffice";
    EXPECT_EQ(term["matchExpressions"].size(), 1u);
  }

  const json named = pod_of(document, {.words = {}, .node = "n7"})["spec"]["affinity"]["nodeAffinity"];
  EXPECT_EQ(named[kRequired]["nodeSelectorTerms"][0]["matchFields"][0]["values"], json::array({"n7"}));
  document["status"]["members"] = json::array();
  EXPECT_THAT(refusal_of(document), HasSubstr("names no node of a member: name the node with --node"));
}

TEST(ReaderPodTest, TheTrainersVariablesReachTheStore) {
  json document = job_document();
  document["spec"]["checkpointPolicy"] = json::parse(R"({"s3": {"endpoint": "https://minio:9000"}})");
  trainer_in(document)["env"] = json::parse(R"json([
    {"name": "RATOON_SAVE_FOLDER", "value": "s3://$(BUCKET)/$(RATOON_JOB_NAME)"
},
    {"name": "AWS_SECRET_ACCESS_KEY", "valueFrom": {"secretKeyRef": {"name": "aws", "key": "k"}}},
    {"name": "PATH", "value": "/opt/conda/bin"}, {"name": "LD_PRELOAD", "value": "libjemalloc.so"},
    {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}, {"name": "RATOON_JOB_UID", "value": "other"}])json");
  trainer_in(document)["envFrom"] = json::parse(R"([{"configMapRef": {"name": "store"}}])");
  const json pod = pod_of(document);
  EXPECT_EQ(last_word(pod), "$(RATOON_SAVE_FOLDER)/$(RATOON_RUN_NAME)") << "kubelet knows the bucket";
  EXPECT_EQ(variable_in(pod, "AWS_SECRET_ACCESS_KEY")["valueFrom"]["secretKeyRef"]["name"], "aws");
  EXPECT_EQ(variable_in(pod, "AWS_ENDPOINT_URL_S3")["value"], "https://minio:9000");
  EXPECT_EQ(variable_in(pod, "RATOON_JOB_NAME")["value"], "digits");
  EXPECT_EQ(variable_in(pod, "RATOON_JOB_UID")["value"], "u-1");
  EXPECT_EQ(container_of(pod)["envFrom"][0]["configMapRef"]["name"], "store");
  // The config map may have such variables, too, and `env` takes precedence over it.
  EXPECT_EQ(variable_in(pod, "LD_PRELOAD")["value"], "");
  EXPECT_EQ(variable_in(pod, "NVIDIA_VISIBLE_DEVICES")["value"], "void");
  EXPECT_EQ(variable_in(pod, "PATH")["value"],
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  trainer_in(document).erase("envFrom");
  for (const char* of_trainers_image : {"PATH", "LD_PRELOAD", "NVIDIA_VISIBLE_DEVICES"})
    EXPECT_TRUE(variable_in(pod_of(document), of_trainers_image).is_null()) << of_trainers_image;
}

TEST(ReaderPodTest, ItRunsAsTheTrainersUserWithoutItsRights) {
  json document = claim_document();
  pod_spec_in(document)["securityContext"] = json::parse(R"({"fsGroup": 2000, "runAsUser": 1000})");
  trainer_in(document)["securityContext"] =
      json::parse(R"({"privileged": true, "runAsUser": 1001, "capabilities": {"add": ["SYS_ADMIN"]}})");
  const json pod = pod_of(document);
  EXPECT_EQ(pod["spec"]["securityContext"], json::parse(R"({"fsGroup": 2000, "runAsUser": 1000})"));
  EXPECT_EQ(container_of(pod)["securityContext"],
            json::parse(R"({"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                            "capabilities": {"drop": ["ALL"]}, "runAsUser": 1001})"));
}

TEST(ReaderPodTest, ContextsThatAreNullAreLeftToThePlatform) {
  json document = claim_document();  // as templates for OpenShift have them
  pod_spec_in(document)["securityContext"] = nullptr;
  trainer_in(document)["securityContext"] = json::parse(R"({"runAsUser": null, "runAsNonRoot": true})");
  const json pod = pod_of(document);
  EXPECT_FALSE(pod["spec"].contains("securityContext"));
  const json security = container_of(pod)["securityContext"];
  EXPECT_FALSE(security.contains("runAsUser"));
  EXPECT_EQ(security["runAsNonRoot"], true);
}

TEST(ReaderPodTest, ItMayRunWhereTheTrainerMayAndRequestsNoDevice) {
  json document = claim_document();
  pod_spec_in(document).update(json::parse(R"({
    "serviceAccountName": "trainers", "imagePullSecrets": [{"name": "registry"}],
    "nodeSelector": {"pool": "gpu"}, "tolerations": [{"key": "team", "operator": "Exists"}],
    "schedulerName": "gangs", "priorityClassName": "high", "runtimeClassName": "nvidia",
    "initContainers": [{"name": "i", "image": "i"}], "dnsPolicy": "Default"})"));
  trainer_in(document)["resources"] = json::parse(R"({"limits": {"nvidia.com/gpu": 8, "memory": "64Gi"}})");
  const json spec = pod_of(document)["spec"];
  EXPECT_EQ(spec["serviceAccountName"], "trainers");
  EXPECT_EQ(spec["imagePullSecrets"][0]["name"], "registry");
  EXPECT_EQ(spec["nodeSelector"]["pool"], "gpu");
  EXPECT_EQ(spec["dnsPolicy"], "Default");
  EXPECT_EQ(spec["tolerations"], json::parse(R"([{"key": "team", "operator": "Exists"},
                            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}])"));
  for (const char* left_out : {"schedulerName", "priorityClassName", "runtimeClassName", "initContainers"})
    EXPECT_FALSE(spec.contains(left_out)) << left_out;
  EXPECT_FALSE(spec["containers"][0]["resources"]["limits"].contains("nvidia.com/gpu"));
}

TEST(ReaderPodTest, KubeletChangesNoWordOfTheUser) {
  const json pod = pod_of(
      job_document(), {.words = {"report", "--job={\"a\": \"$(HOME)\"}"}, .location = "s3://bucket/$(x)"});
  EXPECT_EQ(container_of(pod)["args"],
            json::array({"relay", "--", "report", "--job={\"a\": \"$$(HOME)\"}", "s3://bucket/$$(x)"}));
}

TEST(ReaderPodTest, AnErrorSaysWhatToDo) {
  EXPECT_THAT(refusal_of(job_document()),
              HasSubstr("has not reported where it saves, because no member has joined "
                        "a world yet: name the folder in its pods, or the URL, "
                        "with --location"));
  json document = claim_document();
  document["status"].erase("operatorImage");
  EXPECT_THAT(refusal_of(document), HasSubstr("upgrade the operator, or name an image that has the command "
                                              "`ratoon` with --image"));
  document["spec"]["roles"][0]["agent"] = "None";
  EXPECT_THAT(refusal_of(document), HasSubstr("run without Ratoon's agent (agent is None or Launcher)"));
  EXPECT_FALSE(is_save_place_known(job_of(document)));
  document = job_document();
  document["spec"]["checkpointPolicy"] = {{"stores", json::array({"s3://bucket/runs"})}};
  document["status"]["saveLocation"] = "/scratch/digits";
  EXPECT_THAT(refusal_of(document),
              HasSubstr("name a copy with --location, such as s3://bucket/runs/digits"));
  EXPECT_TRUE(is_save_place_known(job_of(document)));
}

}  // namespace
}  // namespace ratoon::cli::reader_pod_test
