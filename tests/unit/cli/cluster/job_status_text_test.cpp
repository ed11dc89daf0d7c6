#include "cli/cluster/job_status_text.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ratoon::cli::job_status_text_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const WallTime kNow = *parse_rfc3339("2026-11-21T11:40:00Z");

json object(const std::string& name = "digits", const std::string& name_space = "prod") {
  json job = json::parse(R"({
    "apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"managedFields": [{"manager": "kubectl"}]},
    "spec": {"roles": [{"name": "worker", "template": {"spec": {"containers": [{"command": ["train"]}]}}}]},
    "status": {
      "phase": "Running", "message": "trains", "attempt": 4, "formed": true, "worldSize": 2,
      "formedAt": "2026-11-21T11:38:20Z",
      "members": [
        {"role": "worker", "index": 0, "incarnation": 0, "uid": "a", "node": "n1"},
        {"role": "worker", "index": 1, "incarnation": 2, "uid": "b", "node": "n2", "successor": 3,
         "successorUid": "c"}],
      "restarts": {"application": 2, "ignored": 1, "disruption": 3},
      "progress": {"step": 1234, "time": "2026-11-21T11:39:59Z", "position": 1234, "total": 4000,
                   "unit": "step", "loss": 0.693147},
      "conditions": [
        {"type": "Running", "status": "True", "reason": "WorldFormed",
         "message": "attempt 4 trains with 2 processes",
         "lastTransitionTime": "2026-11-21T11:38:20Z"},
        {"type": "Scheduled", "status": "False", "reason": "Unschedulable",
         "message": "no node takes it: 0/3 nodes",
         "lastTransitionTime": "2026-11-21T11:39:30Z"}],
      "lastCheckpoint": {"attempt": 3, "step": 1200, "digest": "00112233445566778899aabbccddeeff",
                         "tier": "volume"},
      "lastFailure": {"member": "digits-worker-0-i0", "node": "n1", "time": "2026-11-21T11:20:00Z",
                      "attempt": 2, "reason": "exit code 3", "exitCode": 3, "exception": "no such layer",
                      "lastLines": "a"},
      "lastDisruption": {"member": "digits-worker-1-i1", "node": "n0", "reason": "silent for too long",
                         "time": "2026-11-21T11:38:21Z", "lostSteps": 34, "totalSeconds": 7.25,
                         "phases": {"detectSeconds": 3.5, "decideSeconds": 0, "placeSeconds": 0.25,
                                    "startSeconds": 2, "rendezvousSeconds": 0.5, "loadSeconds": 0.5,
                                    "firstStepSeconds": 0.5}},
      "suspectNodes": [{"name": "n0", "reason": "lost a member", "until": "2026-11-21T11:43:20Z"},
                       {"name": "n2", "reason": "long ago", "until": "2026-11-21T11:39:00Z"}]}})");
  job["metadata"]["name"] = name;
  job["metadata"]["namespace"] = name_space;
  return job;
}

JobStatusText pages(const std::string& name, const std::vector<json>& objects,
                    const std::string& name_space = "prod") {
  JobStatusText all({.server = "https://s", .name_space = name_space}, name);
  EXPECT_TRUE(all.take(objects));
  return all;
}

TEST(JobStatusText, APictureHasWhatTheStatusCarries) {
  EXPECT_EQ(pages("digits", {object()}).text(JobStatusFormat::kPicture, kNow, 0, 0),
            "digits   Running, attempt 4, 2 processes\n"
            "in       namespace 'prod' at https://s\n"
            "at       step 1234 of 4000 (30 %)  loss 0.6931\n"
            "durable  step 1200  volume 0011223344556677\n"
            "losses   3 lost, 2 failed (1 that cannot fail the job); recovered in 7.25 s\n"
            "failed   11:20:00 digits-worker-0-i0 on n1: exit code 3: no such layer\n"
            "Scheduled is false since 11:39:30: no node takes it: 0/3 nodes\n"
            "NODE                    MEMBER              STATE\n"
            "n0    avoided for 3:20  -\n"
            "n1                      digits-worker-0-i0  Running\n"
            "n2                      digits-worker-1-i2  Leaving\n"
            "      no node           digits-worker-1-i3  Taking over\n"
            "LOST (UTC)  SECONDS  STEPS AGAIN  MEMBER              NODE  WHY\n"
            "11:38:21    7.25     34           digits-worker-1-i1  n0    silent for too long\n"
            "OF THE LAST  DETECT  DECIDE  PLACE  START  RENDEZVOUS  LOAD  FIRST STEP\n"
            "seconds      3.50    0.00    0.25   2.00   0.50        0.50  0.50\n");
}

TEST(JobStatusText, AJobWithoutAStatusIsPending) {
  json fresh = object();
  fresh.erase("status");
  const JobStatusText all = pages("digits", {fresh});
  EXPECT_THAT(all.text(JobStatusFormat::kPicture, kNow, 0, 0), HasSubstr("digits   Pending, attempt 0\n"));
  EXPECT_FALSE(all.are_jobs_over());
}

TEST(JobStatusText, MembersStandAsTheStatusTells) {
  json job = object();
  json& members = job["status"]["members"];
  members[1].erase("successor");
  const auto standing = [&] {
    return json::parse(
        pages("digits", {job}).text(JobStatusFormat::kJson, kNow, 0, 0))["members"][1]["phase"];
  };
  EXPECT_EQ(standing(), "Running");
  members[1]["awaitedSince"] = "2026-11-21T11:39:30Z";
  EXPECT_EQ(standing(), "Starting");
  members[1].erase("node");
  EXPECT_EQ(standing(), "Pending");
  members[1]["notBefore"] = "2026-11-21T11:49:30Z";
  EXPECT_EQ(standing(), "Waiting");
  members[1]["absent"] = true;
  EXPECT_EQ(standing(), "Absent");
  job["status"]["phase"] = "Failed";
  EXPECT_EQ(standing(), "Ended");
  members[1]["completed"] = true;
  EXPECT_EQ(standing(), "Completed");
}

TEST(JobStatusText, NoMemberIsShownThatNeverExisted) {
  json job = object();
  json& members = job["status"]["members"];
  const auto shown = [&] {
    return json::parse(pages("digits", {job}).text(JobStatusFormat::kJson, kNow, 0, 0))["members"].size();
  };
  EXPECT_EQ(shown(), 3U);
  members[1].erase("successorUid");
  EXPECT_EQ(shown(), 2U) << "its successor is only a number";
  members[1].erase("successor");
  members[1]["uid"] = "";
  EXPECT_EQ(shown(), 1U);
  members[1]["notBefore"] = "2026-11-21T11:49:30Z";
  EXPECT_EQ(shown(), 2U) << "its last pod failed";
}

TEST(JobStatusText, JsonHasTheShapeOfALocalRun) {
  const json told = json::parse(pages("digits", {object()}).text(JobStatusFormat::kJson, kNow, 0, 0));
  EXPECT_EQ(told["version"], 1);
  EXPECT_EQ(told["server"], "https://s");
  EXPECT_EQ(told["running"], true);
  EXPECT_EQ(told["job"]["status"]["lastCheckpoint"]["digest"], "00112233445566778899aabbccddeeff");
  EXPECT_FALSE(told["job"]["metadata"].contains("managedFields"));
  EXPECT_EQ(told["members"][0], (json{{"name", "digits-worker-0-i0"}, {"node", "n1"}, {"phase", "Running"}}));
  EXPECT_EQ(told["nodes"], (json{{{"name", "n0"}}, {{"name", "n1"}}, {{"name", "n2"}}}));
  EXPECT_EQ(told["recoveries"][0]["lost_steps"], 34);
  EXPECT_EQ(told["recoveries"][0]["seconds"], 7.25);
  EXPECT_EQ(told["progress"],
            (json{{"position", 1234}, {"total", 4000}, {"unit", "step"}, {"loss", 0.693147}}));
  json endless = object();
  endless["status"]["progress"] = json::object({{"step", 7U}});
  EXPECT_EQ(json::parse(pages("digits", {endless}).text(JobStatusFormat::kJson, kNow, 0, 0))["progress"],
            (json{{"position", 7}, {"total", 0}, {"unit", "step"}}));
  json over = object();
  over["status"]["phase"] = "Succeeded";
  EXPECT_EQ(json::parse(pages("digits", {over}).text(JobStatusFormat::kJson, kNow, 0, 0))["running"], false);
  const std::string line = pages("digits", {object()}).text(JobStatusFormat::kJsonLine, kNow, 0, 0);
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
}

TEST(JobStatusText, WithoutANameTheShapeDoesNotDependOnHowManyThereAre) {
  for (const auto& objects : {std::vector<json>{object()}, std::vector<json>{object("a"), object("b")}}) {
    const json told = json::parse(pages("", objects).text(JobStatusFormat::kJson, kNow, 0, 0));
    EXPECT_EQ(told["jobs"].size(), objects.size());
    EXPECT_FALSE(told.contains("job"));
  }
}

TEST(JobStatusText, SeveralAreATable) {
  const std::vector<json> objects = {object("a"), object("b", "test")};
  EXPECT_EQ(pages("", objects).text(JobStatusFormat::kPicture, kNow, 0, 0),
            "NAME  PHASE    ATTEMPT  PROCESSES  STEP  DURABLE  LOST  FAILED  HUNG\n"
            "a     Running  4        2          1234  1200     3     2       0\n"
            "b     Running  4        2          1234  1200     3     2       0\n");
  EXPECT_THAT(pages("", objects, "").text(JobStatusFormat::kPicture, kNow, 0, 0),
              HasSubstr("\ntest       b     Running"));
  EXPECT_THAT(pages("", objects).text(JobStatusFormat::kSummary, kNow, 0, 0),
              HasSubstr("test/b: Running, attempt 4, 2 processes: step 1234"));
  EXPECT_THAT(pages("", {object("a")}).text(JobStatusFormat::kPicture, kNow, 0, 0),
              HasSubstr("losses   3 lost"));
}

TEST(JobStatusText, OneNameInSeveralNamespacesIsAsked) {
  JobStatusText all({.server = "https://s", .name_space = ""}, "digits");
  const auto taken = all.take({object(), object("digits", "test")});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(taken.error().message(),
              HasSubstr("in each of the namespaces prod, test: choose one with --namespace"));
}

TEST(JobStatusText, AnObjectThatCannotBeReadStopsNoOther) {
  json broken = object("broken");
  broken["spec"]["roles"] = json::array();
  const JobStatusText all = pages("", {object("a"), broken});
  EXPECT_THAT(all.text(JobStatusFormat::kPicture, kNow, 0, 0), HasSubstr("\na     Running"));
  EXPECT_THAT(all.text(JobStatusFormat::kPicture, kNow, 0, 0), HasSubstr("\nTrainingJob broken: "));
  EXPECT_EQ(json::parse(all.text(JobStatusFormat::kJson, kNow, 0, 0))["unreadable"].size(), 1U);
  JobStatusText named({.server = "https://s", .name_space = "prod"}, "broken");
  EXPECT_FALSE(named.take({broken}));
}

TEST(JobStatusText, TheRateIsThatOfTheWorldThatStands) {
  JobStatusText all = pages("digits", {object()});
  const auto line = [&](std::uint64_t attempt, std::uint64_t step, const char* time) {
    json job = object();
    job["status"]["attempt"] = attempt;
    job["status"]["progress"] = {{"step", step}, {"time", time}};
    EXPECT_TRUE(all.take({job}));
    return all.text(JobStatusFormat::kSummary, kNow, 0, 0);
  };
  EXPECT_THAT(line(4, 1334, "2026-11-21T11:40:03Z"), HasSubstr("step 1334  25 steps/s"));
  EXPECT_THAT(line(5, 1300, "2026-11-21T11:40:05Z"), Not(HasSubstr("steps/s")));
  EXPECT_THAT(line(5, 1310, "2026-11-21T11:40:06Z"), HasSubstr("10 steps/s"));
}

TEST(JobStatusText, WhatIsToComeIsInTheUnitOfItsEnd) {
  JobStatusText all = pages("digits", {});
  const auto line = [&](std::uint64_t step, std::uint64_t position, const char* time) {
    json job = object();
    job["status"]["progress"] = {{"step", step},      {"time", time},     {"position", position},
                                 {"total", 256'000U}, {"unit", "sample"}, {"loss", 0.5}};
    EXPECT_TRUE(all.take({job}));
    return all.text(JobStatusFormat::kSummary, kNow, 0, 0);
  };
  EXPECT_THAT(line(1000, 64'000, "2026-11-21T11:40:00Z"),
              HasSubstr("step 1000, sample 64000 of 256000 (25 %)  loss 0.5"));
  EXPECT_THAT(line(1010, 64'640, "2026-11-21T11:40:10Z"),
              HasSubstr("step 1010, sample 64640 of 256000 (25 %)  1 steps/s  49:50 left  loss 0.5"));
}

TEST(JobStatusText, FitsIntoATerminal) {
  const std::string text = pages("", {object("a"), object("b")}).text(JobStatusFormat::kPicture, kNow, 10, 0);
  EXPECT_THAT(text, HasSubstr("NAME  PHA>\n"));
}

}  // namespace
}  // namespace ratoon::cli::job_status_text_test
