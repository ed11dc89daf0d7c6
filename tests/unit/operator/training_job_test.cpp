#include "operator/api/training_job.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ratoon::api::training_job_test {
namespace {

using nlohmann::json;

json minimal() {
  return json::parse(R"({
    "apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "digits"},
    "spec": {"roles": [{"name": "worker", "template": {"spec": {"containers": [{"command": ["train"]}]}}}]}
  })");
}

json with(const char* pointer, const json& value) {
  json document = minimal();
  document[json::json_pointer(pointer)] = value;
  return document;
}

json without(const char* parent, const char* field) {
  json document = minimal();
  document[json::json_pointer(parent)].erase(field);
  return document;
}

constexpr const char* kContainer = "/spec/roles/0/template/spec/containers/0";

TEST(DecodeTrainingJob, FillsInWhatIsNotSaid) {
  const auto job = decode_training_job(minimal());
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->meta.name_space, "default");
  EXPECT_EQ(job->meta.name, "digits");
  EXPECT_EQ(job->spec.num_nodes, 1u);
  EXPECT_EQ(job->spec.processes_per_node, 1u);
  EXPECT_EQ(job->spec.restart_policy.restarts_max, 10u);
  EXPECT_EQ(job->spec.disruption_policy.heartbeat_seconds, 1u);
  EXPECT_EQ(job->spec.disruption_policy.suspect_after_seconds, 3u);
  EXPECT_EQ(job->spec.checkpoint_policy.run_name, "");
  EXPECT_EQ(job->spec.checkpoint_policy.interval_steps, 0u) << "the program decides";
  EXPECT_EQ(job->spec.checkpoint_policy.keep_last, "");
  EXPECT_EQ(job->spec.roles[0].command, std::vector<std::string>({"train"}));
  EXPECT_EQ(job->status, TrainingJobStatus());
}

// As the definition counts accepted values: an accepted job that the operator could not read would make no
// progress.
TEST(DecodeTrainingJob, TextsAreBoundedInCharacters) {
  const auto of = [](std::size_t length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += "\U0001f642";
    return text;
  };
  const std::string container = kContainer;
  EXPECT_TRUE(decode_training_job(with((container + "/args").c_str(), json::array({of(32 * 1024)}))));
  EXPECT_FALSE(decode_training_job(with((container + "/args").c_str(), json::array({of(32 * 1024 + 1)}))));
  const json variable = {{"name", "A"}, {"value", of(32 * 1024)}};
  EXPECT_TRUE(decode_training_job(with((container + "/env").c_str(), json::array({variable}))));
  EXPECT_TRUE(decode_training_job(with("/spec/checkpointPolicy", {{"stores", {"/" + of(1023)}}})));
  EXPECT_FALSE(decode_training_job(with("/spec/checkpointPolicy", {{"stores", {"/" + of(1024)}}})));
  EXPECT_TRUE(decode_training_job(with("/spec/checkpointPolicy", {{"loadFrom", "/" + of(1023)}})));
  EXPECT_TRUE(decode_training_job(with("/status", {{"message", of(4096)}})));
}

TEST(DecodeTrainingJob, ReadsEveryField) {
  const auto job = decode_training_job(json::parse(R"({
    "apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "digits", "namespace": "team-a", "uid": "u-1"},
    "spec": {
      "numNodes": 4, "processesPerNode": 8,
      "roles": [{"name": "worker", "replicas": 2, "template": {"spec": {"containers": [{
        "command": ["train"], "args": ["--lr", "0.1"],
        "env": [{"name": "A", "value": "1"}, {"name": "EMPTY"}]}, {"name": "sidecar"}]}}}],
      "restartPolicy": {"maxRestarts": 0},
      "disruptionPolicy": {"heartbeatSeconds": 2, "suspectAfterSeconds": 9},
      "checkpointPolicy": {"runName": "digits-2", "intervalSteps": 7, "keepLast": 2}
    }})"));
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(key_of(*job), (JobKey{.name_space = "team-a", .name = "digits"}));
  EXPECT_EQ(job->meta.uid, "u-1");
  EXPECT_EQ(job->spec.num_nodes, 4u);
  EXPECT_EQ(job->spec.processes_per_node, 8u);
  EXPECT_EQ(job->spec.roles[0].replicas, 2u);
  EXPECT_EQ(job->spec.roles[0].command, std::vector<std::string>({"train", "--lr", "0.1"}));
  EXPECT_EQ(job->spec.roles[0].environment, (std::vector<Variable>{{"A", "1"}, {"EMPTY", ""}}));
  EXPECT_EQ(job->spec.restart_policy.restarts_max, 0u);
  EXPECT_EQ(job->spec.disruption_policy.suspect_after_seconds, 9u);
  EXPECT_EQ(job->spec.checkpoint_policy.run_name, "digits-2");
  EXPECT_EQ(job->spec.checkpoint_policy.interval_steps, 7u);
}

TEST(DecodeTrainingJob, RefusesWithASentence) {
  const std::string container = std::string("spec.roles[0].template.spec.containers[0]");
  const struct {
    json document;
    std::string sentence;  // after "TrainingJob digits: "
  } cases[] = {
      {with("/apiVersion", "ratoon.dev/v9"),
       "apiVersion must be ratoon.dev/v1alpha1, found \"ratoon.dev/v9\""},
      {with("/kind", "PyTorchJob"), "kind must be TrainingJob, found \"PyTorchJob\""},
      {without("", "spec"), "spec must be an object, found nothing"},
      {with("/spec/roles", json::array()), "spec.roles must be a list of at least one role, found []"},
      {with("/spec/roles", "worker"), "spec.roles must be a list of at most 8 items, found \"worker\""},
      {with("/spec/roles", {minimal()["spec"]["roles"][0], minimal()["spec"]["roles"][0]}),
       "spec.roles must be a list of roles with different names, found "
       "[{\"name\":\"worker\",\"template\":{\"spec\":"
       "{\"containers\":[{\"com..."},
      {with("/spec/roles/0/name", "Worker"),
       "spec.roles[0].name must be lower-case letters, digits and '-', beginning with a letter, found "
       "\"Worker\""},
      {with("/spec/roles/0/name", "worker-of-the-month"),
       "spec.roles[0].name must be a text of at most 12 bytes, found \"worker-of-the-month\""},
      {with("/spec/roles/0/replicas", 0U),
       "spec.roles[0].replicas must be a whole number from 1 to 4096, found 0"},
      {with("/spec/roles/0/template/spec/containers", json::array()),
       "spec.roles[0].template.spec.containers must be a list whose first container runs the trainer, found "
       "[]"},
      {with(kContainer, json::object()),
       container + ".command must be the program to run and its arguments, found nothing"},
      {with((std::string(kContainer) + "/command/0").c_str(), 5U),
       container + ".command must be a list of texts (put numbers and true or false in quotes), found [5]"},
      {with((std::string(kContainer) + "/command").c_str(), "train --steps 5"),
       container +
           ".command must be a list of texts, each in quotes, such as [\"train\",\"--steps\",\"5\"], found "
           "\"train --steps 5\""},
      {with((std::string(kContainer) + "/env").c_str(), {{{"value", "1"}}}),
       container + ".env[0].name must be a text that is not empty, found nothing"},
      {with("/spec/numNodes", 0U), "spec.numNodes must be a whole number from 1 to 4096, found 0"},
      {with("/spec/numNodes", 4097U), "spec.numNodes must be a whole number from 1 to 4096, found 4097"},
      {with("/spec/numNodes", "2"), "spec.numNodes must be a whole number from 1 to 4096, found \"2\""},
      {with("/spec/numNodes", 1.5), "spec.numNodes must be a whole number from 1 to 4096, found 1.5"},
      {with("/spec/processesPerNode", 65U),
       "spec.processesPerNode must be a whole number from 1 to 64, found 65"},
      {with("/spec/restartPolicy", 3U), "spec.restartPolicy must be a JSON object, found 3"},
      {with("/spec/disruptionPolicy/suspectAfterSeconds", 1U),
       "spec.disruptionPolicy.suspectAfterSeconds must be a whole number from 2 to 3600, found 1"},
      {with("/spec/disruptionPolicy", {{"heartbeatSeconds", 5U}, {"suspectAfterSeconds", 5U}}),
       "spec.disruptionPolicy.suspectAfterSeconds must be more than heartbeatSeconds, found 5"},
      {with("/spec/checkpointPolicy/keepLast", 1U),
       "spec.checkpointPolicy.keepLast must be All, 0 if there are stores, or a whole number from 2 to 1000, "
       "found 1"},
      {with("/spec/checkpointPolicy/runName", "../other"),
       "spec.checkpointPolicy.runName must be lower-case letters, digits and '-', beginning with a letter, "
       "found "
       "\"../other\""},
      {with("/status", {{"phase", "Dreaming"}}), "status.phase must be a phase, found \"Dreaming\""},
      {with("/status", "Running"), "status must be a JSON object, found \"Running\""},
  };
  for (const auto& c : cases) {
    const auto job = decode_training_job(c.document);
    ASSERT_FALSE(job) << c.sentence;
    EXPECT_EQ(job.error().message(), "TrainingJob digits: " + c.sentence);
    EXPECT_EQ(job.error().kind(), ErrorKind::kInvalid);
  }
}

// The operator keeps the documents of all jobs of all users.
TEST(DecodeTrainingJob, RefusesTemplatesOfVeryManyValues) {
  json document = minimal();
  json& unknown = document["spec"]["roles"][0]["template"]["x"];
  unknown = json(std::vector<json>(10'000, json::object()));
  EXPECT_TRUE(decode_training_job(document));
  unknown = json(std::vector<json>(30'000, json::object()));
  const auto refused = decode_training_job(document);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("spec.roles has more than 20000 values"), std::string::npos);
}

TEST(DecodeTrainingJob, RefusesDocumentsThatAreNothingOfTheKind) {
  for (const json& document : {json(), json(5), json("job"), json::array({minimal()}), json::object()}) {
    const auto job = decode_training_job(document);
    ASSERT_FALSE(job);
    EXPECT_TRUE(job.error().message().starts_with("TrainingJob: ")) << job.error().message();
  }
}

TEST(DecodeTrainingJob, NamesAreDnsLabelsThatLeaveRoomForTheMember) {
  for (const char* good : {"a", "digits-2", "abcdefghijabcdefghijabcdefghijabcdefghij"})
    EXPECT_TRUE(decode_training_job(with("/metadata/name", good))) << good;
  for (const char* bad :
       {"", "-a", "a-", "2a", "A", "a_b", "a.b", "a b", "abcdefghijabcdefghijabcdefghijabcdefghijk"})
    EXPECT_FALSE(decode_training_job(with("/metadata/name", bad))) << bad;
}

TEST(DecodeTrainingJob, AStatusThatOnlyComplainsIsOneOfANewJob) {
  const auto job =
      decode_training_job(with("/status", {{"conditions",
                                            {{{"type", "InvalidSpec"},
                                              {"status", "True"},
                                              {"reason", "Unreadable"},
                                              {"lastTransitionTime", "1970-01-01T00:00:05Z"}}}}}));
  ASSERT_TRUE(job) << job.error().message();
  ASSERT_EQ(job->status.conditions.size(), 1U);
  EXPECT_TRUE(job->status.conditions[0].is_true);
  auto like = job->status;
  like.conditions.clear();
  EXPECT_EQ(like, TrainingJobStatus());
}

std::vector<Condition> two_conditions() {
  return {{.type = "Running",
           .is_true = true,
           .reason = "WorldFormed",
           .message = "attempt 3",
           .since = WallTime{std::chrono::seconds(11)},
           .observed_generation = 4},
          {.type = "Recovering", .since = WallTime{std::chrono::seconds(12)}}};
}

TrainingJobStatus full_status() {
  TrainingJobStatus status;
  status.phase = JobPhase::kRecovering;
  status.message = "1 of 2 processes are ready for attempt 3";
  status.attempt = Attempt(3);
  status.is_world_formed = true;
  status.world_size = 2;
  status.members = {{.role = "worker", .index = 0, .incarnation = 2, .uid = "u"},
                    {.role = "worker", .index = 1, .incarnation = 0, .uid = ""}};
  status.restarts = {.application = 1, .disruption = 2};
  status.step = Step(57);
  status.restarts.consecutive_crashes = 2;
  status.members[0].next_pod_not_before = WallTime{std::chrono::seconds(5)};
  status.members[0].first_message_awaited_since = WallTime{std::chrono::seconds(6)};
  status.members[0].done = 0x8000'0000'0000'0002U;
  status.members[0].has_been_in_world = true;
  status.active_since = WallTime{std::chrono::seconds(7)};
  status.active_seconds = 8;
  status.capacity_wait = CapacityWait{.since = status.active_since, .release_count = 5};
  status.capacity_wait->retry_at = WallTime{std::chrono::seconds(18)};
  status.last_step_at = WallTime{std::chrono::seconds(9)};
  status.outlook = {
      .position = 3648, .total = 90'000, .unit = "sample", .loss = -0.693147, .best = "error 0 at step 9"};
  status.first_own_attempt = Attempt(2);
  status.last_checkpoint = ResumePoint{.attempt = Attempt(2), .step = Step(50), .digest = "aa"};
  status.last_checkpoint_tier = "volume";
  status.save_location = "/data/digits";
  status.operator_image = "example.org/ratoon-operator:1";
  status.final_weights = "/data/weights.safetensors";
  status.observed_generation = 4;
  status.replicas = 2;
  status.pod_selector = "ratoon.dev/job-uid=u,ratoon.dev/role in (worker)";
  status.restarts.ignored = 1;
  status.restarts.hung = 4;
  status.completed_at = WallTime{std::chrono::seconds(10)};
  status.conditions = two_conditions();
  status.last_failure = MemberFailure{.member = "digits-worker-0-i1",
                                      .node = "n",
                                      .time = WallTime{std::chrono::seconds(13)},
                                      .attempt = Attempt(2),
                                      .reason = "crashed with signal 11",
                                      .exit_code = 139,
                                      .signal = 11,
                                      .exception = "e",
                                      .last_lines = "l"};
  status.suspect_nodes = {
      {.name = "n", .reason = "silent for too long", .until = WallTime{std::chrono::seconds(14)}},
      {.name = "m", .until = WallTime{std::chrono::seconds(15)}, .is_unreachable = true}};
  status.failed_nodes = {{.name = "n", .failures = 2, .time = WallTime{std::chrono::seconds(15)}}};
  status.ledger = {.seconds = {1.5, 2.25, 3, 4, 5, 6.001},
                   .part = TimeLedgerPart::kHung,
                   .since = WallTime{std::chrono::seconds(14)},
                   .newest_step = Step(60),
                   .newest_attempt = Attempt(2),
                   .resumed_step = Step(50),
                   .repeated_step_count = 9};
  status.finish_reason = "the loss no longer falls";
  status.open_recovery = OpenRecovery{.member = "digits-worker-1-i0",
                                      .role = "worker",
                                      .index = 1,
                                      .node = "n",
                                      .reason = "silent for too long",
                                      .is_hung = true,
                                      .time = WallTime{std::chrono::seconds(16)},
                                      .last_message_at = WallTime{std::chrono::seconds(17)},
                                      .lost_steps = 3};
  return status;
}

TEST(Status, SurvivesARoundTripInEveryPhase) {
  for (const auto phase : {JobPhase::kPending, JobPhase::kRunning, JobPhase::kRecovering,
                           JobPhase::kSucceeded, JobPhase::kFailed}) {
    auto job = decode_training_job(minimal());
    job->status = full_status();
    job->status.phase = phase;
    const auto again = decode_training_job(encode_training_job(*job));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->status, job->status);
  }
}

TEST(RoundTrip, KeepsFieldsOfNewerPrograms) {
  json document = minimal();
  document["metadata"]["annotations"]["colour"] = "green";
  document["spec"]["inventedLater"] = {1, 2};
  document["status"] = encode_status(full_status());
  document["status"]["weather"] = {{"sunny", 0.5}};
  document["status"]["restarts"]["quota"] = 4;
  document["status"]["progress"]["tokens"] = 1234;
  auto job = decode_training_job(document);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(encode_training_job(*job), document);

  job->status.step = Step(60);
  document["status"]["progress"]["step"] = 60;
  EXPECT_EQ(encode_training_job(*job), document);
}

// A machine without a clock of its own begins in 1970, until it has asked a time server.
TEST(RoundTrip, ATimeOfDecadesLeavesTheStatusReadable) {
  auto job = decode_training_job(minimal()).value();
  constexpr auto kRestarting = static_cast<std::size_t>(TimeLedgerPart::kRestarting);
  constexpr double kDecades = 56.0 * 365 * 24 * 3600;
  job.status.attempt = Attempt(1);
  job.status.ledger.seconds[kRestarting] = kDecades;
  const auto read = decode_training_job(encode_training_job(job));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_GT(read->status.ledger.seconds[kRestarting], 0);
  EXPECT_LT(read->status.ledger.seconds[kRestarting], kDecades);
}

TEST(RoundTrip, ACheckpointIsReplacedAsAWhole) {
  json document = minimal();
  document["status"] = encode_status(full_status());
  document["status"]["lastCheckpoint"]["bytes"] = 4096;
  auto job = decode_training_job(document);
  job->status.last_checkpoint->step = Step(55);
  EXPECT_FALSE(encode_training_job(*job)["status"]["lastCheckpoint"].contains("bytes"))
      << "those of another checkpoint";
  job->status.last_checkpoint.reset();
  EXPECT_FALSE(encode_training_job(*job)["status"].contains("lastCheckpoint"));
}

TEST(RoundTrip, ALossThatIsNoNumberAnyMoreGoes) {
  json document = minimal();
  document["status"] = encode_status(full_status());
  document["status"]["progress"]["tokens"] = 1234;
  auto job = decode_training_job(document);
  job->status.outlook = {};
  const json progress = encode_training_job(*job)["status"]["progress"];
  for (const char* gone : {"position", "total", "unit", "loss"})
    EXPECT_FALSE(progress.contains(gone)) << gone;
  EXPECT_EQ(progress["tokens"], 1234) << "a newer program's";
}

// A field that stays although it is no longer set is a fact about another time: a new member that counts as
// one of the last world, for example, is silent as soon as it starts.
TEST(RoundTrip, AStatusThatReplacesAnotherOneLeavesNothingOfIt) {
  json document = minimal();
  document["status"] = encode_status(full_status());
  auto job = decode_training_job(document);
  ASSERT_TRUE(job) << job.error().message();
  ASSERT_EQ(job->status, full_status());
  TrainingJobStatus next;
  next.members = {{.role = "worker", .index = 0, .incarnation = 3, .uid = "v"}};
  job->status = next;
  const auto again = decode_training_job(encode_training_job(*job));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->status, next);
  job->status = full_status();
  EXPECT_EQ(decode_training_job(encode_training_job(*job))->status, full_status());
}

TEST(RoundTrip, ASelectorGoesWithTheLastRoleThatItIsOf) {
  json document = minimal();
  document["status"] = encode_status(full_status());
  auto job = decode_training_job(document);
  job->status.pod_selector.clear();
  EXPECT_FALSE(encode_training_job(*job)["status"].contains("selector"));
}

}  // namespace
}  // namespace ratoon::api::training_job_test
