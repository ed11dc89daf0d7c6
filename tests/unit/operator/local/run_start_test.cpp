#include "operator/local/run_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/operator_builders.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::local::run_start_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class BeginRunTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = RunFolder::open(temporary_ / "run");
    ASSERT_TRUE(folder) << folder.error().message();
    folder_.emplace(std::move(*folder));
  }
  // A run that trained to step 40 and lost a member meanwhile.
  void leave_a_run() {
    api::TrainingJob job = job_;
    job.status.attempt = Attempt(3);
    job.status.step = Step(40);
    ASSERT_TRUE(folder_->write_status({{"job", encode_training_job(job)},
                                       {"recoveries", json::array({{{"member", "m"}}})},
                                       {"saves", "own/run"}}));
  }
  Result<RunStart> begin(bool starts_over = false) {
    return begin_run(*folder_, job_, starts_over, WallTime{}, [this](const api::TrainingJobStatus& fresh) {
      stored_.push_back(fresh);
      return Result<void>();
    });
  }

  test::TemporaryFolder temporary_;
  std::optional<RunFolder> folder_;
  api::TrainingJob job_ = *api::decode_training_job(
      {{"apiVersion", "ratoon.dev/v1alpha1"},
       {"kind", "TrainingJob"},
       {"metadata", {{"name", "digits"}}},
       {"spec",
        {{"roles",
          {{{"name", "worker"}, {"template", {{"spec", {{"containers", {{{"command", {"train"}}}}}}}}}}}}}}});
  std::vector<api::TrainingJobStatus> stored_;
};

TEST_F(BeginRunTest, TheFirstOneInAFolderBeginsAtItsBeginning) {
  const auto begun = begin();
  ASSERT_TRUE(begun) << begun.error().message();
  EXPECT_EQ(begun->status, job_.status);
  EXPECT_FALSE(begun->continues_run);
  EXPECT_FALSE(begun->archive_message);
  EXPECT_TRUE(begun->document.is_null());
}

// The status names the newest checkpoint of the first run, which no process of another run finds.
TEST_F(BeginRunTest, AnotherRunNameInAFolderWithCheckpointsIsRefused) {
  const auto with_run_name = [this](const std::string& name) {
    json other = *job_.document;
    other["spec"]["roles"][0]["template"]["spec"]["containers"][0]["command"] = {"train", "--run-name", name};
    return *api::decode_training_job(other);
  };
  job_ = with_run_name("a");
  leave_a_run();
  job_ = with_run_name("b");
  EXPECT_TRUE(begin()) << "nothing was saved";
  job_ = with_run_name("a");
  job_.status.last_checkpoint = ResumePoint{.attempt = Attempt(2), .step = Step(30), .digest = "d"};
  leave_a_run();
  EXPECT_TRUE(begin());
  job_ = with_run_name("b");
  const auto begun = begin();
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(begun.error().message(), HasSubstr("holds the run 'a', and this command names the run 'b'"));
  EXPECT_TRUE(begin(true)) << "it starts over";
}

TEST_F(BeginRunTest, TheNextOneGoesOnWithStatusAndBook) {
  leave_a_run();
  const auto begun = begin();
  ASSERT_TRUE(begun) << begun.error().message();
  EXPECT_TRUE(begun->continues_run);
  EXPECT_EQ(begun->status.attempt, Attempt(4));
  EXPECT_EQ(begun->status.step, Step(40));
  EXPECT_EQ(begun->document.at("recoveries").size(), 1u);
  EXPECT_TRUE(stored_.empty());
}

// Until a member tells where it saves, and that is perhaps never.
TEST_F(BeginRunTest, TheNextOneKnowsWhereTheMembersOfTheSameRolesSaved) {
  leave_a_run();
  EXPECT_EQ(begin()->save_location, "own/run");
  json other = *job_.document;
  other["spec"]["roles"][0]["template"]["spec"]["containers"][0]["command"] = {"train", "--save-folder", "x"};
  job_ = *api::decode_training_job(other);
  EXPECT_EQ(begin()->save_location, std::nullopt);
}

// Otherwise the first failure of this run would count as the second of one fault, and end it: the program may
// be another.
TEST_F(BeginRunTest, TheFailureOfARunBeforeIsNotThisOnes) {
  api::TrainingJob job = job_;
  job.status.phase = api::JobPhase::kFailed;
  job.status.attempt = Attempt(3);
  job.status.last_failure = api::MemberFailure{.member = "digits-worker-0-i0",
                                               .node = "node-1",
                                               .time = WallTime{},
                                               .attempt = Attempt(3),
                                               .reason = "exit code 1",
                                               .exit_code = 1U,
                                               .signal = std::nullopt,
                                               .exception = "ValueError: no such data",
                                               .last_lines = "Traceback"};
  ASSERT_TRUE(folder_->write_status({{"job", encode_training_job(job)}}));
  const auto begun = begin();
  ASSERT_TRUE(begun) << begun.error().message();
  EXPECT_TRUE(begun->continues_run);
  EXPECT_EQ(begun->status.last_failure, std::nullopt);
}

TEST_F(BeginRunTest, OneThatStartsOverStoresAFreshStatusAndSaysWhereTheOldOneIs) {
  leave_a_run();
  const auto begun = begin(true);
  ASSERT_TRUE(begun) << begun.error().message();
  EXPECT_FALSE(begun->continues_run);
  EXPECT_EQ(begun->status.step, Step(0));
  EXPECT_EQ(begun->status.attempt, Attempt(4));
  EXPECT_EQ(stored_, std::vector{begun->status});
  ASSERT_TRUE(begun->archive_message);
  EXPECT_THAT(*begun->archive_message, HasSubstr("run/before/1970-01-01T00-00-00.000Z"));
  EXPECT_TRUE(begun->document.is_null()) << "its losses are another run's";
}

TEST_F(BeginRunTest, ADamagedStatusIsNoFreshStart) {
  test::write_text(folder_->status_path(), "{");
  for (const bool starts_over : {false, true}) EXPECT_FALSE(begin(starts_over));
  EXPECT_TRUE(stored_.empty());
}

TEST(FreshStatus, CountsAttemptsAndIncarnationsOnAndOwnsNothingOlder) {
  auto status = test::job(2).status;
  status.attempt = Attempt(7);
  status.members[1].incarnation = 3;
  status.step = Step(100);
  status.restarts = {.application = 1, .disruption = 4};
  status.last_checkpoint = ResumePoint{.attempt = Attempt(7), .step = Step(90), .digest = "aa"};
  const auto fresh = fresh_status(status);
  EXPECT_EQ(fresh.attempt, Attempt(8));
  EXPECT_FALSE(fresh.is_world_formed);
  EXPECT_EQ(fresh.first_own_attempt, Attempt(0));
  EXPECT_EQ(fresh.members[1].incarnation, 4u);
  EXPECT_EQ(fresh.step, Step(0));
  EXPECT_EQ(fresh.restarts, api::Restarts());
  EXPECT_FALSE(fresh.last_checkpoint);
}

TEST(RecoverStatus, FencesTheMembersOfTheRunBefore) {
  auto status = test::job(2).status;
  status.members[1].incarnation = 3;
  const auto recovered = recover_status(test::job().spec, status);
  EXPECT_EQ(recovered.members,
            (std::vector<api::MemberStatus>{{.role = "worker", .index = 0, .incarnation = 1, .uid = ""},
                                            {.role = "worker", .index = 1, .incarnation = 4, .uid = ""}}));
  EXPECT_EQ(recovered.phase, api::JobPhase::kRecovering);
  EXPECT_EQ(recovered.attempt, status.attempt.next()) << "what the last one left on the disk is its own";
  EXPECT_EQ(recovered.restarts, status.restarts) << "stopping a run is no loss";
}

TEST(RecoverStatus, LeavesACompletedJobAlone) {
  auto status = test::job(2).status;
  status.phase = api::JobPhase::kSucceeded;
  EXPECT_EQ(recover_status(test::job().spec, status), status);
}

TEST(RecoverStatus, OneThatIsReopenedGoesOnWithAllMembers) {
  auto status = test::job(2).status;
  status.phase = api::JobPhase::kSucceeded;
  status.completed_at = WallTime{};
  status.final_weights = "weights";
  for (auto& member : status.members) member.is_completed = true;
  const auto recovered = recover_status(test::job().spec, reopen_completed_job(status));
  EXPECT_EQ(recovered.phase, api::JobPhase::kRecovering);
  EXPECT_EQ(recovered.attempt, status.attempt.next());
  EXPECT_EQ(recovered.completed_at, std::nullopt);
  EXPECT_EQ(recovered.final_weights, "");
  for (const auto& member : recovered.members) {
    EXPECT_FALSE(member.is_completed);
    EXPECT_EQ(member.uid, "");
  }
}

TEST(RecoverStatus, WhoStartsAFailedJobAgainGivesItItsRestartsBack) {
  auto status = test::job(2).status;
  status.phase = api::JobPhase::kFailed;
  status.restarts = {
      .application = 11, .ignored = 3, .disruption = 4, .losses_without_step = 5, .consecutive_crashes = 2};
  status.completed_at = WallTime{};
  const auto recovered = recover_status(test::job().spec, status);
  EXPECT_EQ(recovered.phase, api::JobPhase::kRecovering);
  EXPECT_EQ(recovered.completed_at, std::nullopt) << "it is not over any more";
  EXPECT_EQ(recovered.restarts, (api::Restarts{.application = 11, .ignored = 11, .disruption = 4}))
      << "the failures stay in the account, and cannot fail the job again";
}

// Deadlines of a world without members apply to no process.
TEST(RecoverStatus, NoWorldOutlivesItsRunner) {
  auto status = test::job(2).status;
  status.is_world_formed = true;
  status.world_size = 2;
  status.world_formed_at = WallTime{};
  status.last_step_at = WallTime{};
  const auto recovered = recover_status(test::job().spec, status);
  EXPECT_FALSE(recovered.is_world_formed);
  EXPECT_EQ(recovered.world_size, 0u);
  EXPECT_EQ(recovered.world_formed_at, std::nullopt);
  EXPECT_EQ(recovered.last_step_at, std::nullopt);
}

// A replaced member waits for all others.
TEST(RecoverStatus, MembersWithoutTheAgentAreAllMadeAnew) {
  auto job = test::job(2);
  job.status.members[0].is_completed = true;
  EXPECT_TRUE(recover_status(job.spec, job.status).members[0].is_completed);
  job.spec.roles[0].has_agent = false;
  EXPECT_FALSE(recover_status(job.spec, job.status).members[0].is_completed);
  EXPECT_EQ(recover_status(job.spec, job.status).members[0].incarnation, 1U);
}

TEST(RecoverStatus, AJobThatNeverFormedAWorldIsPending) {
  EXPECT_EQ(recover_status({}, {}).phase, api::JobPhase::kPending);
  EXPECT_EQ(recover_status({}, {}).attempt, Attempt(0));
}

}  // namespace
}  // namespace ratoon::local::run_start_test
