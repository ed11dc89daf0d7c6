#include "operator/local/folder/save_location.h"

#include <gtest/gtest.h>

#include "base/contract/names.h"
#include "tests/support/operator_builders.h"

namespace ratoon::local::save_location_test {
namespace {

class SaveLocation : public testing::Test {
 protected:
  std::string place() const { return save_location(job_, folders_); }
  void say(const std::vector<std::string>& words) { job_.spec.roles[0].command = words; }

  api::TrainingJob job_ = test::job();
  SaveFolders folders_{.run = "/runs/a", .save = "/runs/a/checkpoints", .work = "/runs"};
};

TEST_F(SaveLocation, IsInTheRunsFolderUnderTheJobsName) {
  EXPECT_EQ(place(), "checkpoints/" + job_.meta.name);
  job_.spec.checkpoint_policy.run_name = "first";
  EXPECT_EQ(place(), "checkpoints/first");
  job_.spec.roles[0].environment = {{names::env::kRunName, "second"}};
  EXPECT_EQ(place(), "checkpoints/second") << "the template wins";
}

TEST_F(SaveLocation, FollowsTheCommandLineOfTheTrainer) {
  say({"train", "--run-name", "r", "--save-folder", "/data"});
  EXPECT_EQ(place(), "/data/r");
  say({"train", "--save-folder=here/../runs", "--run-name=x", "--run-name", "r"});
  EXPECT_EQ(place(), "/runs/runs/r") << "the last one counts";
  say({"train", "--save-folder", "s3://bucket/runs", "--run-name", "r"});
  EXPECT_EQ(place(), "s3://bucket/runs/r");
  say({"train", "--save-folder", "/data", "--", "--save-folder", "/other", "--run-name=o"});
  EXPECT_EQ(place(), "/data/" + job_.meta.name) << "words behind -- are the program's";
  say({"train", "--ratoon-save-folder", "/data", "--ratoon-run-name=r", "--run-name", "of the program"});
  EXPECT_EQ(place(), "/data/r") << "the prefix overrides";
  job_.spec.roles[0].environment = {{"PLACE", "/scratch"}};
  say({"train", "--save-folder", "$(PLACE)/runs", "--run-name=r"});
  EXPECT_EQ(place(), "/scratch/runs/r") << "a variable of the container";
  say({"train", "--save-folder"});
  EXPECT_EQ(place(), "checkpoints/" + job_.meta.name) << "which the trainer refuses";
}

// Each way to name a place in the run's folder: a copy of the folder has the place, too.
TEST_F(SaveLocation, WithinTheRunsFolderFollowsThatFolder) {
  for (const char* said : {"/runs/a/own", "a/own", "/runs/b/../a/own"}) {
    say({"train", "--save-folder", said, "--run-name", "r"});
    EXPECT_EQ(place(), "own/r") << said;
  }
  folders_.run = "/runs/b/../a/.";
  EXPECT_EQ(place(), "own/r");
  for (const char* said : {"/runs/ab", "/runs", "/", "/runs/a/../c"}) {
    say({"train", "--save-folder", said, "--run-name", "r"});
    EXPECT_EQ(place(), (std::filesystem::path(said) / "r").lexically_normal()) << said;
  }
}

// A Python program names its folder in its code, and a flag of that name may be the program's own.
TEST_F(SaveLocation, IsWhereAProcessSaysThatItSaves) {
  std::vector<api::ProcessFacts> processes(3);
  EXPECT_EQ(reported_save_location(processes, folders_), std::nullopt) << "older agents do not say it";
  processes[1].save_location = "/data/run-7";
  EXPECT_EQ(reported_save_location(processes, folders_), "/data/run-7");
  processes[1].save_location = "/runs/a/checkpoints/own";
  EXPECT_EQ(reported_save_location(processes, folders_), "checkpoints/own") << "relative to the run's folder";
  processes[0].save_location = "s3://bucket/runs/own";
  EXPECT_EQ(reported_save_location(processes, folders_), "s3://bucket/runs/own");
}

}  // namespace
}  // namespace ratoon::local::save_location_test
