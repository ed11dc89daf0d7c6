#include "cli/report/facts/cluster_job.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"
#include "tests/unit/cli/report/run_facts_builders.h"

namespace ratoon::cli::report_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

WallTime at(double seconds) {
  return WallTime{from_seconds(kBegan + seconds)};
}

json job_document() {
  json document = json::parse(R"({
    "apiVersion": "ratoon.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "digits", "namespace": "prod", "uid": "u-1", "labels": {"a": "b"}},
    "spec": {"numNodes": 2, "roles": [{"name": "worker", "template": {"spec": {"containers": [
      {"name": "trainer", "image": "i", "command": ["digits"],
       "env": [{"name": "SECRET", "value": "s3cret"}]}]}}}]},
    "status": {
      "phase": "Running", "message": "training", "attempt": 3, "worldSize": 2,
      "restarts": {"application": 1, "hung": 0, "disruption": 1}, "progress": {"step": 120},
      "ledger": {"part": "useful", "newestStep": 100, "newestAttempt": 3, "resumedStep": 90,
                 "stepsMadeAgain": 7,
                 "usefulSeconds": 40, "recomputedSeconds": 2, "waitingForCapacitySeconds": 0,
                 "restartingSeconds": 8, "hungSeconds": 0, "suspendedSeconds": 10},
      "lastFailure": {"member": "digits-worker-1-i1", "node": "n1", "attempt": 2, "reason": "exit code 3",
                      "exitCode": 3, "lastLines": "no room\n"},
      "members": [{"role": "worker", "index": 0, "incarnation": 0, "uid": "p0", "node": "n0"}]}})");
  document["metadata"]["creationTimestamp"] = format_rfc3339(at(0));
  document["status"]["ledger"]["since"] = format_rfc3339(at(60));
  document["status"]["lastFailure"]["time"] = format_rfc3339(at(30));
  return document;
}

RunFacts facts_of(const json& document, double now, RunFacts facts = {}) {
  const auto job = read_cluster_job(document.dump());
  EXPECT_TRUE(job) << (job ? "" : job.error().message());
  if (job) add_cluster_job(*job, at(now), facts);
  return facts;
}

TEST(ClusterJobTest, TheStatusAloneTellsTimeLossesAndTheLastFailure) {
  const Report report = make_report(facts_of(job_document(), 70));
  EXPECT_EQ(report.name, "digits");
  EXPECT_EQ(report.standing, "in progress");
  EXPECT_EQ(report.message, "");
  EXPECT_EQ(report.length, 70);
  EXPECT_EQ(report.step, 120u);
  EXPECT_EQ(report.attempts, 3u);
  EXPECT_EQ(report.loss_count, 2u);
  EXPECT_EQ(report.repeated_step_count, 7u);
  EXPECT_THAT(report.account, ElementsAre(Pair("useful", 50.0), Pair("recomputed", 2.0),
                                          Pair("suspended", 10.0), Pair("restarting", 8.0)))
      << "the open part counts until now";
  ASSERT_TRUE(report.last_failure);
  EXPECT_EQ(report.last_failure->at, 30);
  EXPECT_THAT(report.last_failure->lines, ElementsAre("no room"));
  ASSERT_EQ(report.missing_data_notes.size(), 1u)
      << "nothing is known of the values that the trainer reported";
  EXPECT_THAT(report.missing_data_notes[0],
              HasSubstr("only the last disruption and the last failure in full"));
}

TEST(ClusterJobTest, AFailedJobHasNoUsefulTimeAndSaysWhy) {
  json document = job_document();
  document["status"]["phase"] = "Failed";
  document["status"]["message"] = "failed too often";
  document["status"]["completionTime"] = format_rfc3339(at(60));
  document["status"]["ledger"].erase("since");
  const Report report = make_report(facts_of(document, 5000));
  EXPECT_EQ(report.standing, "failed");
  EXPECT_EQ(report.message, "failed too often");
  EXPECT_EQ(report.length, 60) << "until its end";
  EXPECT_NEAR(spent(report, "unfinished"), 40, 1e-6);
  EXPECT_NEAR(spent(report, "useful"), 0, 1e-6);
}

TEST(ClusterJobTest, PhasesAreSaidInTheReportsWords) {
  json document = job_document();
  for (const auto& [phase, standing] :
       {std::pair("Pending", "in progress"), std::pair("Recovering", "in progress"),
        std::pair("Suspended", "suspended"), std::pair("Succeeded", "completed"),
        std::pair("Failed", "failed")}) {
    document["status"]["phase"] = phase;
    EXPECT_EQ(make_report(facts_of(document, 70)).standing, standing);
  }
}

TEST(ClusterJobTest, TheRanksSplitTheUsefulTimeOfTheJob) {
  RunFacts facts;
  facts.history.ledger = {{"useful", 44}, {"save_stall", 4}, {"data_wait", 2}};
  const Report report = make_report(facts_of(job_document(), 70, facts));
  EXPECT_NEAR(spent(report, "save_stall"), 4, 1e-6);
  EXPECT_NEAR(spent(report, "useful"), 44, 1e-6);
}

TEST(ClusterJobTest, ARunThatIsOlderThanItsJobHasTheTimeOfItsRanks) {
  RunFacts facts;
  facts.history.attempts = {1};
  facts.history.ledger_rows = {row(-100, 1, 0, 0), row(70, 1, 120, 0)};
  facts.history.ledger = {{"useful", 130}, {"restarting", 40}};
  const Report report = make_report(facts_of(job_document(), 70, facts));
  EXPECT_EQ(report.length, 170);
  EXPECT_NEAR(spent(report, "useful"), 130, 1e-6) << "the job's ledger knows only 70 s";
}

TEST(ClusterJobTest, TheDocumentForAReportIsSmallAndHasNoTemplate) {
  const auto job = read_cluster_job(job_document().dump());
  ASSERT_TRUE(job);
  const std::string text = job_for_report(*job).dump();
  EXPECT_THAT(text, testing::Not(HasSubstr("s3cret")));
  EXPECT_THAT(text, testing::Not(HasSubstr("digits-worker-0")));
  EXPECT_THAT(text, testing::Not(HasSubstr("\"members\"")));
  const Report whole = make_report(facts_of(job_document(), 70));
  const Report reduced = make_report(facts_of(job_for_report(*job), 70));
  EXPECT_EQ(reduced.account, whole.account);
  EXPECT_EQ(reduced.began, whole.began);
  EXPECT_EQ(reduced.loss_count, whole.loss_count);
}

TEST(ClusterJobTest, TheJobIsAFileOrTheTextItself) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "job.json";
  std::ofstream(file) << job_document().dump();
  const auto job = read_cluster_job(file.string());
  ASSERT_TRUE(job);
  EXPECT_EQ(job->meta.name, "digits");
  EXPECT_EQ(read_cluster_job((folder.path() / "none").string()).error().kind(), ErrorKind::kNotFound);
  EXPECT_THAT(read_cluster_job("{").error().message(), HasSubstr("the TrainingJob of --job"));
  EXPECT_THAT(read_cluster_job("{}").error().message(), HasSubstr("the TrainingJob of --job"));
}

}  // namespace
}  // namespace ratoon::cli::report_test
