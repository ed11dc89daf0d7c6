#include "operator/local/saves_place.h"

#include <gtest/gtest.h>

#include "base/contract/names.h"
#include "tests/support/operator_builders.h"

namespace ratoon::local::saves_place_test {
namespace {

class SavesPlace : public testing::Test {
 protected:
  std::string place() const { return saves_place(job_, "/runs/a/checkpoints", "/runs"); }
  void say(const std::vector<std::string>& words) { job_.spec.roles[0].command = words; }

  api::TrainingJob job_ = test::job();
};

TEST_F(SavesPlace, IsInTheRunsFolderUnderTheJobsName) {
  EXPECT_EQ(place(), "/runs/a/checkpoints/" + job_.meta.name);
  job_.spec.checkpoint_policy.run_name = "first";
  EXPECT_EQ(place(), "/runs/a/checkpoints/first");
  job_.spec.roles[0].environment = {{names::env::kRunName, "second"}};
  EXPECT_EQ(place(), "/runs/a/checkpoints/second") << "the template wins";
}

TEST_F(SavesPlace, FollowsTheCommandLineOfTheTrainer) {
  say({"train", "--run-name", "r", "--save-folder", "/data"});
  EXPECT_EQ(place(), "/data/r");
  say({"train", "--save-folder=here/../runs", "--run-name=x", "--run-name", "r"});
  EXPECT_EQ(place(), "/runs/runs/r") << "the last one counts";
  say({"train", "--save-folder", "s3://bucket/runs", "--run-name", "r"});
  EXPECT_EQ(place(), "s3://bucket/runs/r");
  say({"train", "--save-folder"});
  EXPECT_EQ(place(), "/runs/a/checkpoints/" + job_.meta.name) << "which the trainer refuses";
}

}  // namespace
}  // namespace ratoon::local::saves_place_test
