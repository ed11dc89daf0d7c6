#include "operator/local/members/member_plan.h"

#include <gtest/gtest.h>

#include "base/contract/names.h"
#include "tests/support/operator_builders.h"

namespace ratoon::local::member_plan_test {
namespace {

namespace env = names::env;

class MemberPlan : public testing::Test {
 protected:
  MemberLaunchPlan plan() const { return plan_member(job_, pod_, places_); }
  std::string variable(const char* name, std::size_t process = 0) const {
    const auto environment = plan().environments.at(process);
    const auto found = environment.find(name);
    return found == environment.end() ? "-" : found->second;
  }

  api::TrainingJob job_ = test::job();
  api::Pod pod_ = test::pod(1, 3);
  MemberLaunchInputs places_{.coordinator_port = 4711,
                             .run_began = "1700000000.250",
                             .job_uid = "6f1c",
                             .token_file = "run/token",
                             .save_folder = "run/checkpoints",
                             .log_file = "run/logs/a.log",
                             .lifeline_fd = 9};
};

TEST_F(MemberPlan, EachProcessKnowsItsPlace) {
  job_.spec.processes_per_node = 2;
  ASSERT_EQ(plan().environments.size(), 2u);
  EXPECT_EQ(variable(env::kLocalRank, 0), "0");
  EXPECT_EQ(variable(env::kLocalRank, 1), "1");
  for (const std::size_t process : {0, 1}) {
    EXPECT_EQ(variable(env::kRole, process), "worker");
    EXPECT_EQ(variable(env::kIndex, process), "1");
    EXPECT_EQ(variable(env::kIncarnation, process), "3");
    EXPECT_EQ(variable(env::kCoordinatorUrl, process), "http://127.0.0.1:4711");
    EXPECT_EQ(variable(env::kTokenFile, process), "run/token");
    EXPECT_EQ(variable(env::kProcessesPerNode, process), "2");
  }
  EXPECT_EQ(variable(env::kJobUid), "6f1c") << "the identity of the job";
  EXPECT_EQ(plan().command, std::vector<std::string>({"train"}));
  EXPECT_EQ(plan().log_path, "run/logs/a.log");
  EXPECT_EQ(plan().lifeline_fd, 9);
}

TEST_F(MemberPlan, GpusAreDealtToTheProcessesOfAllMembersInTurn) {
  job_.spec.processes_per_node = 2;
  EXPECT_EQ(variable("CUDA_VISIBLE_DEVICES"), "-");
  places_.devices = {"5", "GPU-1a", "3"};
  EXPECT_EQ(variable("CUDA_VISIBLE_DEVICES", 0), "3") << "the third process of the job";
  EXPECT_EQ(variable("CUDA_VISIBLE_DEVICES", 1), "5");
  pod_ = test::pod(0, 0);
  EXPECT_EQ(variable("CUDA_VISIBLE_DEVICES", 1), "GPU-1a");
  job_.spec.roles[0].environment = {{"CUDA_VISIBLE_DEVICES", "0,1"}};
  EXPECT_EQ(variable("CUDA_VISIBLE_DEVICES", 1), "0,1") << "the job says which";
}

// As in a run of `ratoon launch` outside of a job: a program that takes the device of its local rank finds
// it.
TEST_F(MemberPlan, TheOnlyProcessOfAMemberHasTheLocalRank0AndOneGpu) {
  places_.devices = {"5", "GPU-1a", "3"};
  for (const std::uint32_t index : {0U, 1U, 2U}) {
    pod_ = test::pod(index, 0);
    EXPECT_EQ(variable(env::kLocalRank), "0");
    EXPECT_EQ(variable(env::kProcessesPerNode), "1");
    EXPECT_EQ(variable("CUDA_VISIBLE_DEVICES"), places_.devices[index]);
  }
}

TEST_F(MemberPlan, EachProcessHasAPortForItsMetricsAndTheRunsBeginning) {
  EXPECT_EQ(variable(env::kTimeLimitSince), "1700000000.250");
  EXPECT_EQ(variable(env::kMetricsPort), "-");
  places_.metrics_port = 12'000;
  EXPECT_EQ(variable(env::kMetricsPort), "12000");
  job_.spec.roles[0].environment = {{env::kMetricsPort, "9400"}};
  EXPECT_EQ(variable(env::kMetricsPort), "12000") << "the user's is the first of the run, not of each member";
}

TEST_F(MemberPlan, TheTemplateWinsOverThePolicyAndNotOverThePlace) {
  job_.spec.roles[0].environment = {{env::kKeepLast, "9"}, {env::kRole, "king"}, {"LEVEL", "3"}};
  EXPECT_EQ(variable(env::kKeepLast), "9");
  EXPECT_EQ(variable(env::kRole), "worker");
  EXPECT_EQ(variable("LEVEL"), "3");
}

TEST_F(MemberPlan, WordsAndValuesMayReferToVariables) {
  job_.spec.roles[0].command = {"train", "--name=$(RUN)-$(RATOON_INDEX)", "$$(RUN)", "$(UNKNOWN)", "$(HOME)"};
  job_.spec.roles[0].environment = {{"DAY", "monday"}, {"RUN", "r-$(DAY)-$(RATOON_ROLE)"}};
  EXPECT_EQ(variable("RUN"), "r-monday-worker");
  EXPECT_EQ(plan().command, (std::vector<std::string>{"train", "--name=r-monday-worker-1", "$(RUN)",
                                                      "$(UNKNOWN)", "$(HOME)"}))
      << "this machine's own variables are not the container's";
}

TEST_F(MemberPlan, TheGraceIsWhatARunThatIsStoppedWaits) {
  EXPECT_EQ(variable(env::kGraceSeconds), "-") << "30, for runner and agent";
  job_.spec.checkpoint_policy.grace_seconds = 7;
  EXPECT_EQ(variable(env::kGraceSeconds), "7");
}

// PyTorch's names, and no variable by which a program could take itself for an agent.
TEST_F(MemberPlan, AProgramWithoutTheAgentLearnsItsRankAndWhereToMeet) {
  job_.spec.roles[0].has_agent = false;
  job_.spec.processes_per_node = 2;
  places_.master_port = 4712;
  pod_.address = "127.0.0.1";
  pod_.group_rank_assignment = {.master_address = "127.0.0.1", .first_rank = 2, .world_size = 4};
  EXPECT_EQ(variable(env::kMasterAddress), "127.0.0.1");
  EXPECT_EQ(variable(env::kMasterPort), "4712");
  EXPECT_EQ(variable(env::kWorldSize), "4");
  EXPECT_EQ(variable(env::kRank, 0), "2");
  EXPECT_EQ(variable(env::kRank, 1), "3");
  EXPECT_EQ(variable(env::kLocalRank, 1), "1");
  places_.metrics_port = 12'000;
  for (const char* absent :
       {env::kCoordinatorUrl, env::kTokenFile, env::kLifelineFd, env::kTimeLimitSince, env::kMetricsPort})
    EXPECT_EQ(variable(absent), "-") << absent;
  EXPECT_TRUE(plan().is_killed_with_runner);
  job_.spec.roles[0].environment = {{env::kMasterPort, "29501"}, {env::kRank, "0"}};
  EXPECT_EQ(variable(env::kMasterPort), "29501");
  EXPECT_EQ(variable(env::kRank, 1), "3") << "a rank of one's own would only lie";
}

TEST_F(MemberPlan, IsStagedWhereThereIsAPlaceForIt) {
  EXPECT_EQ(variable(env::kStagingFolder), "-");
  places_.staging_folder = "/dev/shm/run";
  EXPECT_EQ(variable(env::kStagingFolder), "/dev/shm/run");
}

TEST_F(MemberPlan, LimitsAreThoseOfTheRole) {
  job_.spec.roles[0].limits = {.memory_bytes = 5, .cpu_millis = 7};
  EXPECT_EQ(plan().limits, job_.spec.roles[0].limits);
}

TEST_F(MemberPlan, TheRoleIsThatOfThePod) {
  job_.spec.roles.insert(job_.spec.roles.begin(),
                         {.name = "eval", .replicas = 1, .command = {"eval"}, .environment = {}});
  EXPECT_EQ(plan().command, std::vector<std::string>({"train"}));
}

}  // namespace
}  // namespace ratoon::local::member_plan_test
