#include "operator/local/folder/run_folder.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "tests/support/operator_builders.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::local::run_folder_test {
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
                HasSubstr("another `ratoon run` is running in " + (temporary_ / "run").string()));
  }
  EXPECT_TRUE(RunFolder::open(temporary_ / "run"));
}

// A process that can open the file can lock it.
TEST_F(RunFolderTest, NoOtherUserCanOpenTheLock) {
  const auto folder = open();
  EXPECT_EQ(mode_of(folder.path() / "lock"), 0600U);
}

TEST_F(RunFolderTest, WhetherARunnerIsAtWorkIsSeenWithoutBeingInItsWay) {
  EXPECT_FALSE(RunFolder::is_in_use(temporary_ / "run"));
  EXPECT_FALSE(std::filesystem::exists(temporary_ / "run")) << "who looks makes nothing";
  {
    const auto folder = open();
    EXPECT_TRUE(RunFolder::is_in_use(folder.path()));
    EXPECT_TRUE(RunFolder::is_in_use(folder.path())) << "it did not take the lock";
  }
  EXPECT_FALSE(RunFolder::is_in_use(temporary_ / "run"));
  std::atomic<bool> is_over = false;
  std::jthread watcher([&] {
    while (!is_over) static_cast<void>(RunFolder::is_in_use(temporary_ / "run"));
  });
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(RunFolder::open(temporary_ / "run"));
  is_over = true;
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

TEST_F(RunFolderTest, AFileIsNoFolder) {
  test::write_text(temporary_ / "file", "mine");
  for (const char* name : {"file", "file/below"}) {
    const auto opened = RunFolder::open(temporary_ / name);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(opened.error().message(), HasSubstr("pass another --folder"));
  }
  EXPECT_EQ(test::read_text(temporary_ / "file"), "mine");
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
    EXPECT_THAT(status.error().message(), HasSubstr("move it away"));
    EXPECT_EQ(status.error().kind(), ErrorKind::kInvalid) << "it is no checkpoint";
  }
  std::filesystem::remove(folder.status_path());
  std::filesystem::create_directory(folder.status_path());
  EXPECT_FALSE(folder.read_status(job())) << "it is there, but it cannot be read";
}

TEST_F(RunFolderTest, WhatIsSetAsideIsMovedAndNeverDeleted) {
  const auto folder = open();
  test::write_text(folder.status_path(), "old status");
  std::filesystem::create_directories(folder.checkpoints_path() / "digits");
  test::write_text(folder.checkpoints_path() / "digits/pack", "old pack");
  test::write_text(folder.log_path("m"), "old log");
  test::write_text(folder.path() / "report.html", "old report");
  std::vector<std::filesystem::path> places;
  for (int i = 0; i < 2; ++i) {
    const auto before = folder.archive_old_files(WallTime{}, [&]() -> Result<void> {
      EXPECT_EQ(test::read_text(folder.checkpoints_path() / "digits/pack"), i == 0 ? "old pack" : "")
          << "a fresh status stands before anything is moved";
      return folder.write_status({{"fresh", true}});
    });
    ASSERT_TRUE(before) << before.error().message();
    places.push_back(*before);
  }
  EXPECT_EQ(places[0], folder.path() / "before" / "1970-01-01T00-00-00.000Z");
  EXPECT_EQ(places[1], folder.path() / "before" / "1970-01-01T00-00-00.000Z-2");
  EXPECT_EQ(test::read_text(places[0] / "status.json"), "old status");
  EXPECT_EQ(test::read_text(places[0] / "checkpoints/digits/pack"), "old pack");
  EXPECT_EQ(test::read_text(places[0] / "logs/m.log"), "old log");
  EXPECT_EQ(test::read_text(places[0] / "report.html"), "old report");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "report.html"))
      << "it would be taken for the new run's";
  EXPECT_FALSE(std::filesystem::exists(folder.checkpoints_path()));
  EXPECT_TRUE(std::filesystem::is_directory(folder.path() / "logs"));
}

TEST_F(RunFolderTest, WithoutAFreshStatusNothingIsMoved) {
  const auto folder = open();
  std::filesystem::create_directories(folder.checkpoints_path());
  EXPECT_FALSE(
      folder.archive_old_files(WallTime{}, [] { return Result<void>(Error(ErrorKind::kNoSpace, "full")); }));
  EXPECT_TRUE(std::filesystem::exists(folder.checkpoints_path()));
}

TEST_F(RunFolderTest, CheckpointsOnAnotherDiskAreNotTakenForTheLinkToThem) {
  const auto folder = open();
  std::filesystem::remove_all(folder.checkpoints_path());
  std::filesystem::create_directories(folder.path() / "large");
  std::filesystem::create_directory_symlink("large", folder.checkpoints_path());
  bool is_stored = false;
  EXPECT_FALSE(folder.archive_old_files(WallTime{}, [&] {
    is_stored = true;
    return Result<void>();
  }));
  EXPECT_FALSE(is_stored);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.checkpoints_path()));
}

TEST_F(RunFolderTest, ALineThatAPowerCutLeftIsNotGoneOnWith) {
  const auto folder = open();
  std::ofstream(folder.events_path()) << R"({"kind":"st)";
  folder.append_event("{}\n");
  folder.append_event("{}\n");
  std::ifstream in(folder.events_path());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "{\"kind\":\"st\n{}\n{}\n");
}

TEST_F(RunFolderTest, TheJobsIdentityIsDrawnOnceAndKept) {
  const std::string uid = open().job_uid().value();
  EXPECT_EQ(uid.size(), 32u);
  EXPECT_EQ(open().job_uid().value(), uid);
  EXPECT_EQ(mode_of(temporary_ / "run/uid"), 0600u);
  test::write_text(temporary_ / "run/uid", "half");
  const std::string other = open().job_uid().value();
  EXPECT_EQ(other.size(), 32u) << "one that is damaged is drawn anew";
  EXPECT_NE(RunFolder::open(temporary_ / "other")->job_uid().value(), other);
}

// A link to itself acts as a file that the file system cannot read at this moment.
TEST_F(RunFolderTest, AnIdentityThatCannotBeReadForNowIsKept) {
  const std::string uid = open().job_uid().value();
  std::filesystem::rename(temporary_ / "run/uid", temporary_ / "run/kept");
  std::filesystem::create_symlink("uid", temporary_ / "run/uid");
  const auto unknown = open().job_uid();
  ASSERT_FALSE(unknown) << *unknown;
  EXPECT_THAT(unknown.error().message(), testing::HasSubstr("run/uid"));
  ASSERT_TRUE(std::filesystem::is_symlink(temporary_ / "run/uid")) << "nothing was written";
  std::filesystem::rename(temporary_ / "run/kept", temporary_ / "run/uid");
  EXPECT_EQ(open().job_uid().value(), uid);
}

TEST_F(RunFolderTest, ACopyOfTheFolderIsAnotherJob) {
  const std::string uid = open().job_uid().value();
  std::filesystem::copy(temporary_ / "run", temporary_ / "copy", std::filesystem::copy_options::recursive);
  const std::string of_copy = RunFolder::open(temporary_ / "copy")->job_uid().value();
  EXPECT_NE(of_copy, uid);
  EXPECT_EQ(RunFolder::open(temporary_ / "copy")->job_uid().value(), of_copy) << "drawn once";
  EXPECT_EQ(open().job_uid().value(), uid) << "the first is what it was";
}

TEST_F(RunFolderTest, AFolderThatIsMovedIsTheSameJob) {
  const std::string uid = open().job_uid().value();
  std::filesystem::rename(temporary_ / "run", temporary_ / "moved");
  EXPECT_EQ(RunFolder::open(temporary_ / "moved")->job_uid().value(), uid);
}

// The file as older versions, and people, wrote it: it does not say in which folder it was drawn.
TEST_F(RunFolderTest, AnIdentityOfNoFolderIsDrawnAnew) {
  const std::string of_before = "0123456789abcdef0123456789abcdef";
  std::filesystem::create_directories(temporary_ / "run");
  test::write_text(temporary_ / "run/uid", of_before + "\n");
  EXPECT_NE(open().job_uid().value(), of_before);
}

}  // namespace
}  // namespace ratoon::local::run_folder_test
