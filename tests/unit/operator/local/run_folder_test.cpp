#include "operator/local/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "operator/local/runner.h"
#include "tests/support/operator_builders.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::local {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// A job with the document from which it was read.
api::TrainingJob job(const std::string& name = "digits") {
  auto decoded = api::decode_training_job(
      {{"apiVersion", "ratoon.dev/v1alpha1"},
       {"kind", "TrainingJob"},
       {"metadata", {{"name", name}}},
       {"spec",
        {{"roles",
          {{{"name", "worker"}, {"template", {{"spec", {{"containers", {{{"command", {"train"}}}}}}}}}}}}}}});
  EXPECT_TRUE(decoded) << decoded.error().message();
  return *decoded;
}

class RunFolderTest : public testing::Test {
 protected:
  RunFolder open() {
    auto folder = RunFolder::open(temporary_ / "run");
    EXPECT_TRUE(folder) << folder.error().message();
    return std::move(*folder);
  }
  unsigned mode_of(const std::filesystem::path& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777U;
  }
  test::TemporaryFolder temporary_;
};

TEST_F(RunFolderTest, IsMadeWithItsParentsAndAbsolute) {
  const auto folder = RunFolder::open(temporary_ / "a" / "b");
  ASSERT_TRUE(folder);
  EXPECT_TRUE(folder->path().is_absolute());
  EXPECT_TRUE(std::filesystem::is_directory(temporary_ / "a/b/logs"));
  EXPECT_EQ(folder->log_path("m"), temporary_ / "a/b/logs/m.log");
}

TEST_F(RunFolderTest, ASecondRunnerIsRefusedUntilTheFirstIsGone) {
  {
    const auto first = open();
    const auto second = RunFolder::open(temporary_ / "run");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind(), ErrorKind::kAlreadyExists);
    EXPECT_THAT(second.error().message(),
                HasSubstr("another `ratoon run` is at work in " + (temporary_ / "run").string()));
  }
  EXPECT_TRUE(RunFolder::open(temporary_ / "run"));
}

TEST_F(RunFolderTest, APlaceThatCannotBeAFolderIsAnErrorWithItsPath) {
  test::write_text(temporary_ / "file", "");
  const auto folder = RunFolder::open(temporary_ / "file");
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message(), HasSubstr((temporary_ / "file").string()));
}

TEST_F(RunFolderTest, StatusAndTokenAreTheOwnersAlone) {
  const auto folder = open();
  ASSERT_TRUE(folder.write_token("secret"));
  ASSERT_TRUE(folder.write_status({{"job", {}}}));
  EXPECT_EQ(mode_of(folder.token_path()), 0600u);
  EXPECT_EQ(mode_of(folder.status_path()), 0600u);
  EXPECT_EQ(test::read_text(folder.token_path()), "secret\n");
}

TEST_F(RunFolderTest, AFreshOneHasNoStatus) {
  const auto status = open().read_status(job());
  ASSERT_TRUE(status);
  EXPECT_FALSE(status->has_value());
}

TEST_F(RunFolderTest, GivesBackTheStatusThatWasWritten) {
  const auto folder = open();
  auto stored = job();
  stored.status = test::job().status;
  ASSERT_TRUE(folder.write_status({{"job", api::encode_training_job(stored)}, {"members", json::array()}}));
  const auto status = folder.read_status(job());
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_EQ(*status, stored.status);
}

TEST_F(RunFolderTest, AnotherJobsFolderIsRefused) {
  const auto folder = open();
  ASSERT_TRUE(folder.write_status({{"job", api::encode_training_job(job("letters"))}}));
  const auto status = folder.read_status(job());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(),
            (temporary_ / "run").string() +
                " holds a run of job 'letters', not of 'digits': pass another --folder");
}

TEST_F(RunFolderTest, ADamagedStatusIsASentenceAndNeverAFreshStart) {
  const auto folder = open();
  for (const char* text :
       {"", "{", "[]", "3", "null", "\"x\"", "{}", "{\"job\":5}", "{\"job\":null}", "\xff\xfe"}) {
    SCOPED_TRACE(text);
    test::write_text(folder.status_path(), text);
    const auto status = folder.read_status(job());
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message(), HasSubstr("status.json: "));
  }
  std::filesystem::remove(folder.status_path());
  std::filesystem::create_directory(folder.status_path());
  EXPECT_FALSE(folder.read_status(job())) << "it is there, but it cannot be read";
}

TEST(RecoverStatus, FencesTheMembersOfTheRunBefore) {
  auto status = test::job(2).status;
  status.members[1].incarnation = 3;
  const auto recovered = recover_status(status);
  EXPECT_EQ(recovered.members,
            (std::vector<api::MemberStatus>{{.role = "worker", .index = 0, .incarnation = 1, .uid = ""},
                                            {.role = "worker", .index = 1, .incarnation = 4, .uid = ""}}));
  EXPECT_EQ(recovered.phase, api::JobPhase::kRecovering);
  EXPECT_EQ(recovered.attempt, status.attempt) << "the next one is made when the world is formed";
  EXPECT_EQ(recovered.restarts, status.restarts) << "stopping a run is no loss";
}

TEST(RecoverStatus, LeavesACompletedJobAlone) {
  auto status = test::job(2).status;
  status.phase = api::JobPhase::kSucceeded;
  EXPECT_EQ(recover_status(status), status);
}

TEST(RecoverStatus, WhoStartsAFailedJobAgainGivesItItsRestartsBack) {
  auto status = test::job(2).status;
  status.phase = api::JobPhase::kFailed;
  status.restarts = {.application = 11, .disruption = 4};
  const auto recovered = recover_status(status);
  EXPECT_EQ(recovered.phase, api::JobPhase::kRecovering);
  EXPECT_EQ(recovered.restarts, (api::Restarts{.application = 0, .disruption = 4}));
}

TEST(RecoverStatus, AJobThatNeverFormedAWorldIsPending) {
  EXPECT_EQ(recover_status({}).phase, api::JobPhase::kPending);
}

}  // namespace
}  // namespace ratoon::local
