#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/contract/names.h"
#include "operator/api/spec_fields.h"
#include "operator/api/trainer_environment.h"
#include "operator/api/training_job.h"

namespace ratoon::api::policies_test {
namespace {

using nlohmann::json;

Result<TrainingJob> decode_with(const char* policy, const json& fields) {
  json document = json::parse(R"({
    "apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "digits"},
    "spec": {"roles": [{"name": "worker", "template": {"spec": {"containers": [{"command": ["train"]}]}}}]}
  })");
  document["spec"][policy] = fields;
  return decode_training_job(document);
}

TEST(CheckpointPolicy, IsReadWhole) {
  const auto job =
      decode_with("checkpointPolicy", {{"stores", {"s3://bucket/runs", "/mnt/runs", "file:///data/runs"}},
                                       {"loadFrom", "https://host/weights"},
                                       {"loadParts", "State"},
                                       {"overwrite", true},
                                       {"keepLast", 0U},
                                       {"s3", {{"endpoint", "https://host:9000/s3"}, {"region", "auto"}}},
                                       {"stagingMemory", "8Gi"}});
  ASSERT_TRUE(job) << job.error().message();
  const CheckpointPolicy& policy = job->spec.checkpoint_policy;
  EXPECT_EQ(policy.stores, std::vector<std::string>({"s3://bucket/runs", "/mnt/runs", "file:///data/runs"}));
  EXPECT_EQ(policy.load_from, "https://host/weights");
  EXPECT_EQ(policy.load_parts, "state");
  EXPECT_TRUE(policy.overwrites);
  EXPECT_EQ(policy.staging_memory_mib, 8192U);
  EXPECT_EQ(policy.keep_last, "0");
  EXPECT_EQ(policy.s3_endpoint, "https://host:9000/s3");
  EXPECT_EQ(policy.s3_region, "auto");
}

TEST(CheckpointPolicy, AsksForNothingUnasked) {
  const auto job = decode_with("checkpointPolicy", json::object());
  EXPECT_EQ(job->spec.checkpoint_policy.stores, std::vector<std::string>());
  EXPECT_EQ(job->spec.checkpoint_policy.load_from, "");
  EXPECT_EQ(job->spec.checkpoint_policy.load_parts, "");
  EXPECT_FALSE(job->spec.checkpoint_policy.overwrites);
  EXPECT_EQ(job->spec.checkpoint_policy.staging_memory_mib, 0U);
  EXPECT_EQ(job->spec.checkpoint_policy.keep_last, "");
  EXPECT_EQ(job->spec.checkpoint_policy.interval_steps, 0U);
  EXPECT_EQ(job->spec.checkpoint_policy.s3_endpoint, "");
}

TEST(CheckpointPolicy, KeepsAllOrSomeOrNoneThatAStoreHolds) {
  EXPECT_EQ(decode_with("checkpointPolicy", {{"keepLast", "All"}})->spec.checkpoint_policy.keep_last, "all");
  EXPECT_EQ(decode_with("checkpointPolicy", {{"keepLast", 1000U}})->spec.checkpoint_policy.keep_last, "1000");
  EXPECT_TRUE(decode_with("checkpointPolicy", {{"keepLast", 0U}, {"stores", {"/mnt/runs"}}}));
  EXPECT_EQ(decode_with("checkpointPolicy", {{"keepLast", 0U}}).error().message(),
            "TrainingJob digits: spec.checkpointPolicy.keepLast must be 0 only if there are stores, which "
            "then keep the checkpoints, found 0");
  for (const json& bad :
       {json(1U), json(1001U), json("all"), json(2.5), json(true), json(std::uint64_t{1} << 32U)})
    EXPECT_FALSE(decode_with("checkpointPolicy", {{"keepLast", bad}, {"stores", {"/mnt/runs"}}})) << bad;
}

TEST(MaxDuration, IsOfTheTraining) {
  EXPECT_EQ(decode_with("maxDuration", "90ep")->spec.max_duration, "90ep");
  EXPECT_EQ(decode_with("maxDuration", "90").error().message(),
            "TrainingJob digits: spec.maxDuration must be a number and its unit, like 90ep, 5000st, 500ba, "
            "1000sp, 12h or 1h30m, found \"90\"");
}

TEST(MaxDuration, ANumberWithoutItsUnitIsAnsweredWithUnits) {
  const auto refused = decode_with("maxDuration", 90U);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("like 90ep, "), std::string::npos) << refused.error().message();
}

TEST(DataPolicy, IsReadWhole) {
  const auto job = decode_with("dataPolicy", {{"seed", 9007199254740991U}, {"globalBatchSize", 268435456U}});
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->spec.data_policy.seed, 9007199254740991U);
  EXPECT_EQ(job->spec.data_policy.global_batch_size, 268435456U);
  EXPECT_EQ(decode_with("dataPolicy", {{"seed", 0U}})->spec.data_policy.seed, 0U) << "0 is a seed, too";
}

TEST(DataPolicy, SaysNothingUnasked) {
  for (const auto& job : {decode_with("dataPolicy", json::object()), decode_with("cleanPodPolicy", "All")}) {
    EXPECT_EQ(job->spec.data_policy.seed, std::nullopt);
    EXPECT_EQ(job->spec.data_policy.global_batch_size, std::nullopt);
  }
}

TEST(DataPolicy, RefusesWhatNoStreamTakes) {
  for (const json& bad : {json(9007199254740992U), json(-1), json("17"), json(1.5)})
    EXPECT_FALSE(decode_with("dataPolicy", {{"seed", bad}})) << bad;
  for (const json& bad : {json(0U), json(268435457U), json(-1), json("64"), json(1.5)})
    EXPECT_FALSE(decode_with("dataPolicy", {{"globalBatchSize", bad}})) << bad;
  EXPECT_THAT(decode_with("dataPolicy", {{"globalBatchSize", 0U}}).error().message(),
              testing::StartsWith("TrainingJob digits: spec.dataPolicy.globalBatchSize must be "));
}

TEST(CheckpointPolicy, RefusesPlacesThatCannotBe) {
  for (const char* bad : {"runs", "", "s3://", "https://host/runs", "s3://a,s3://b", "/a b", "ftp://host/a"})
    EXPECT_FALSE(decode_with("checkpointPolicy", {{"stores", {bad}}})) << bad;
  for (const char* bad : {"weights", "https://", "s3://a,b", "/a b"})
    EXPECT_FALSE(decode_with("checkpointPolicy", {{"loadFrom", bad}})) << bad;
  for (const char* bad :
       {"host:9000", "ftp://host", "https://", "https:///a", "https://a:b@host", "https://h?q", "h h"})
    EXPECT_FALSE(decode_with("checkpointPolicy", {{"s3", {{"endpoint", bad}}}})) << bad;
  EXPECT_FALSE(decode_with("checkpointPolicy", {{"s3", {{"region", "EU central"}}}}));
  EXPECT_EQ(
      decode_with("checkpointPolicy", {{"loadFrom", "weights"}}).error().message(),
      "TrainingJob digits: spec.checkpointPolicy.loadFrom must be s3://bucket/prefix, https://host/path, "
      "file:///folder or /folder, without commas, found \"weights\"");
  EXPECT_EQ(
      decode_with("checkpointPolicy", {{"loadParts", "state"}}).error().message(),
      "TrainingJob digits: spec.checkpointPolicy.loadParts must be Weights, State or All, found \"state\"");
}

// A job with these fields and a role for each word.
Result<TrainingJob> decode_roles(const std::vector<const char*>& agents,
                                 const json& fields = json::object()) {
  json document = json::parse(R"({"apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob",
                                  "metadata": {"name": "digits"}, "spec": {"roles": []}})");
  for (const char* agent : agents) {
    const std::string name = "r" + std::to_string(document["spec"]["roles"].size());
    document["spec"]["roles"].push_back(
        {{"name", name},
         {"agent", agent},
         {"template", {{"spec", {{"containers", {{{"command", {"train"}}}}}}}}}});
  }
  document["spec"].update(fields);
  return decode_training_job(document);
}

TEST(Agent, AJobIsAGroupWhereNobodyHasIt) {
  EXPECT_FALSE(is_agentless(decode_roles({"Ratoon"})->spec));
  EXPECT_TRUE(is_agentless(decode_roles({"None", "None"})->spec));
  EXPECT_FALSE(is_agentless(decode_with("suspend", false)->spec)) << "all have it where nothing is said";
}

TEST(Agent, WhoDoesWithoutIsPromisedNothingThatNeedsIt) {
  const auto complaint = [](const Result<TrainingJob>& job) { return job ? "" : job.error().message(); };
  EXPECT_EQ(complaint(decode_roles({"none"})),
            "TrainingJob digits: spec.roles[0].agent must be Ratoon, Launcher or None, found \"none\"");
  EXPECT_NE(complaint(decode_roles({"None", "Ratoon"})).find("spec.roles must be"), std::string::npos);
  EXPECT_NE(complaint(decode_roles({"Launcher", "Ratoon"})).find("spec.roles must be"), std::string::npos);
  EXPECT_NE(
      complaint(decode_roles({"None"}, {{"elasticPolicy", {{"minReplicas", 1}}}})).find("elasticPolicy"),
      std::string::npos);
  EXPECT_NE(
      complaint(decode_roles({"None"}, {{"progressDeadlineSeconds", 9}})).find("progressDeadlineSeconds"),
      std::string::npos);
}

TEST(CheckpointHome, IsAPlaceInAnObjectStoreInsteadOfAVolume) {
  const auto job = decode_with("checkpointPolicy", {{"home", "s3://bucket/runs"}});
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(trainer_environment(*job).at(names::env::kSaveFolder), "s3://bucket/runs");
  EXPECT_FALSE(trainer_environment(*decode_with("checkpointPolicy", {{"runName", "a"}}))
                   .contains(names::env::kSaveFolder));
  for (const char* bad : {"/mnt/runs", "file:///mnt/runs", "s3://", "s3://a/b,s3://c", "https://host/runs"})
    EXPECT_FALSE(decode_with("checkpointPolicy", {{"home", bad}})) << bad;
  const auto both =
      decode_with("checkpointPolicy", {{"home", "s3://bucket/runs"}, {"volumeClaimName", "claim"}});
  ASSERT_FALSE(both);
  EXPECT_NE(both.error().message().find("home must be absent if volumeClaimName is given"), std::string::npos)
      << both.error().message();
}

TEST(ReleaseAfterSeconds, IsAbsentOrPositive) {
  EXPECT_EQ(decode_with("suspend", false)->spec.release_after_seconds, 0U);
  EXPECT_EQ(decode_with("releaseAfterSeconds", 86400U)->spec.release_after_seconds, 86400U);
  EXPECT_EQ(
      decode_with("releaseAfterSeconds", 0U).error().message(),
      "TrainingJob digits: spec.releaseAfterSeconds must be at least 1: remove it if the job is to keep "
      "its nodes while it waits, found 0");
  EXPECT_FALSE(decode_with("releaseAfterSeconds", 86401U));
}

TEST(Agent, ALaunchedProgramMayChangeSizeAndReportsNoSteps) {
  const auto job = decode_roles({"Launcher"}, {{"elasticPolicy", {{"minReplicas", 1U}}}});
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_TRUE(uses_launcher(job->spec));
  EXPECT_FALSE(is_agentless(job->spec));
  EXPECT_FALSE(reports_steps(job->spec));
  EXPECT_TRUE(reports_steps(decode_roles({"Ratoon"})->spec));
  for (const char* field : {"progressDeadlineSeconds", "processesPerNode"}) {
    const auto refused = decode_roles({"Launcher"}, {{field, 2U}});
    ASSERT_FALSE(refused) << field;
    EXPECT_NE(refused.error().message().find(field), std::string::npos) << refused.error().message();
  }
}

TEST(Agent, ALaunchedRoleWithoutACommandIsToldWhatToWrite) {
  json document = *decode_roles({"Launcher"})->document;
  document["spec"]["roles"][0]["template"]["spec"]["containers"][0].erase("command");
  const auto refused = decode_training_job(document);
  ASSERT_FALSE(refused);
  EXPECT_NE(
      refused.error().message().find("containers[0].command must be the program to run (ENTRYPOINT and CMD"),
      std::string::npos)
      << refused.error().message();
}

TEST(ElasticPolicy, HasPlacesUpToTheLargestSize) {
  const auto job = decode_with("elasticPolicy", {{"minReplicas", 1U}, {"maxReplicas", 3U}});
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(members_max_of(job->spec, job->spec.roles[0]), 3U);
  const auto plain = decode_with("elasticPolicy", {{"minReplicas", 1U}});
  EXPECT_EQ(members_max_of(plain->spec, plain->spec.roles[0]), 1U) << "numNodes";
  Role own = job->spec.roles[0];
  own.replicas = 2;
  EXPECT_EQ(members_max_of(job->spec, own), 2U) << "a number of its own";

  json document = *job->document;
  document["spec"]["numNodes"] = 4U;
  const auto refused = decode_training_job(document);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("maxReplicas must be at least numNodes"), std::string::npos)
      << refused.error().message();
}

TEST(RestartPolicy, IsReadWhole) {
  const auto job = decode_with("restartPolicy", json::parse(R"({
    "maxRestarts": 3, "maxLossesWithoutStep": 4, "backoffSeconds": 5, "backoffMaxSeconds": 6,
    "rules": [{"exitCodes": [1, 255], "signals": [11, 64], "reasons": ["OOMKilled"], "action": "Fail"},
              {"reasons": ["Evicted"], "action": "Ignore"}, {"signals": [9], "action": "Restart"}]})"));
  ASSERT_TRUE(job) << job.error().message();
  const RestartPolicy& policy = job->spec.restart_policy;
  EXPECT_EQ(policy.losses_without_step_max, 4U);
  EXPECT_TRUE(policy.is_losses_without_step_max_set);
  EXPECT_FALSE(
      decode_with("restartPolicy", json::object())->spec.restart_policy.is_losses_without_step_max_set);
  EXPECT_EQ(policy.backoff_seconds, 5U);
  EXPECT_EQ(policy.backoff_max_seconds, 6U);
  ASSERT_EQ(policy.rules.size(), 3U);
  EXPECT_EQ(policy.rules[0].exit_codes, std::vector<std::uint32_t>({1, 255}));
  EXPECT_EQ(policy.rules[0].signals, std::vector<std::uint32_t>({11, 64}));
  EXPECT_EQ(policy.rules[0].reasons, std::vector<std::string>({"OOMKilled"}));
  EXPECT_EQ(policy.rules[0].action, RuleAction::kFail);
  EXPECT_EQ(policy.rules[1].action, RuleAction::kIgnore);
  EXPECT_EQ(policy.rules[2].action, RuleAction::kRestart);
}

TEST(RestartPolicy, RefusesRulesThatCannotBe) {
  for (const char* bad :
       {R"({"action": "Fail"})", R"({"exitCodes": [1]})", R"({"exitCodes": [1], "action": "FailJob"})",
        R"({"exitCodes": [0], "action": "Fail"})", R"({"exitCodes": [256], "action": "Fail"})",
        R"({"exitCodes": [80], "action": "Fail"})", R"({"exitCodes": [1, 86], "action": "Fail"})",
        R"({"signals": [65], "action": "Fail"})", R"({"signals": ["KILL"], "action": "Fail"})",
        R"({"exitCodes": [], "signals": [], "reasons": [], "action": "Fail"})"})
    EXPECT_FALSE(decode_with("restartPolicy", {{"rules", {json::parse(bad)}}})) << bad;
  EXPECT_FALSE(decode_with("restartPolicy", {{"backoffSeconds", 10U}, {"backoffMaxSeconds", 9U}}));
}

TEST(RolesThatDecide, AreRolesThatTheJobHas) {
  const auto job = decode_with("successPolicy", {{"roles", {"worker"}}});
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->spec.success_policy.roles, std::vector<std::string>({"worker"}));
  EXPECT_EQ(decode_with("failurePolicy", {{"roles", {"worker"}}})->spec.failure_policy.roles.size(), 1U);
  for (const char* policy : {"successPolicy", "failurePolicy"}) {
    EXPECT_FALSE(decode_with(policy, {{"roles", {"boss"}}})) << policy;
    EXPECT_FALSE(decode_with(policy, {{"roles", json::array()}})) << policy;
    EXPECT_FALSE(decode_with(policy, json::object())) << policy;
  }
  const json rule = {{"exitCodes", {1U}}, {"roles", {"boss"}}, {"action", "Fail"}};
  const auto refused = decode_with("restartPolicy", {{"rules", {rule}}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find(
                "spec.restartPolicy must be an object whose rules name only roles of the job"),
            std::string::npos);
}

TEST(PoliciesOfTheEnd, AreRead) {
  EXPECT_EQ(decode_with("cleanPodPolicy", "None")->spec.clean_pod_policy, CleanPodPolicy::kNone);
  EXPECT_EQ(decode_with("cleanPodPolicy", "All")->spec.clean_pod_policy, CleanPodPolicy::kAll);
  EXPECT_FALSE(decode_with("cleanPodPolicy", "Some"));
  EXPECT_EQ(decode_with("ttlSecondsAfterFinished", 0U)->spec.ttl_seconds_after_finished, 0U);
  EXPECT_EQ(decode_with("suspend", false)->spec.ttl_seconds_after_finished, std::nullopt);
  EXPECT_EQ(decode_with("suspend", false)->spec.clean_pod_policy, CleanPodPolicy::kRunning);
  EXPECT_EQ(decode_with("checkpointPolicy", {{"graceSeconds", 90U}})->spec.checkpoint_policy.grace_seconds,
            90U);
}

TEST(Quantities, AreReadAsKubernetesWritesThem) {
  EXPECT_EQ(parse_quantity("2"), 2);
  EXPECT_EQ(parse_quantity("500m"), 0.5);
  EXPECT_EQ(parse_quantity("1.5Gi"), 1.5 * (1U << 30U));
  EXPECT_EQ(parse_quantity("64Mi"), 1U << 26U);
  EXPECT_EQ(parse_quantity("2k"), 2000);
  EXPECT_EQ(parse_quantity("12e3"), 12000);
  EXPECT_EQ(parse_quantity("0.004E"), 4e15);
  EXPECT_EQ(parse_quantity("+.5"), 0.5);
  EXPECT_EQ(parse_quantity("0"), 0);
  for (const char* bad :
       {"", "Mi", "-1", "1 Mi", "1mi", "1MiB", "inf", "nan", "0x10", "16Pi", "1e999", "1.2.3"})
    EXPECT_FALSE(parse_quantity(bad)) << bad;
}

TEST(LimitsOfARole, AreThoseOfTheTrainersContainer) {
  const auto decode = [](const json& resources) {
    const json container = {{"command", {"train"}}, {"resources", resources}};
    const json pod = {{"spec", {{"containers", json::array({container})}}}};
    return decode_with("roles", json::array({{{"name", "worker"}, {"template", pod}}}));
  };
  EXPECT_EQ(decode(json::object())->spec.roles[0].limits, ResourceLimits{});
  EXPECT_EQ(decode({{"limits", {{"memory", "64Mi"}, {"cpu", "1500m"}}}})->spec.roles[0].limits,
            (ResourceLimits{.memory_bytes = 1U << 26U, .cpu_millis = 1500}));
  EXPECT_EQ(decode({{"limits", {{"memory", 1000U}, {"cpu", 0.0001}}}})->spec.roles[0].limits,
            (ResourceLimits{.memory_bytes = 1000, .cpu_millis = 1}));
  const auto refused = decode({{"limits", {{"memory", "64 megabytes"}}}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("resources.limits.memory must be a quantity like 512Mi"),
            std::string::npos);
}

TEST(Mebibytes, AreReadFromSizesWithAUnit) {
  EXPECT_EQ(parse_mebibytes("1Mi"), 1U);
  EXPECT_EQ(parse_mebibytes("512Mi"), 512U);
  EXPECT_EQ(parse_mebibytes("8Gi"), 8192U);
  EXPECT_EQ(parse_mebibytes("999999Ti"), 999999ULL << 20U);
  for (const char* bad :
       {"", "Gi", "0Gi", "01Gi", "8", "8G", "8gi", "-8Gi", "1.5Gi", "8Gi ", "1000000Gi", "8Ki"})
    EXPECT_FALSE(parse_mebibytes(bad)) << bad;
}

}  // namespace
}  // namespace ratoon::api::policies_test
