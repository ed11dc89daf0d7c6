// --autoresume false: a start that finds checkpoints is refused, and a restart by a launcher is no new start.
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/train.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/session/locations/launch_record.h"
#include "agent/src/session/options/check_options.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::autoresume_test {
namespace {

using session::record_accepted_launches;
using session::was_accepted_before;
using testing::HasSubstr;

TEST(AutoresumeOption, IsOnAndIsASwitch) {
  const auto read = [](std::vector<const char*> words) {
    words.insert(words.begin(), "trainer");
    return Options::from_environment(static_cast<int>(words.size()), words.data(),
                                     {.save_folder = "f", .run_name = "r"});
  };
  EXPECT_TRUE(read({})->autoresume) << "a start that was killed goes on without a word";
  EXPECT_FALSE(read({"--autoresume=false"})->autoresume);
  EXPECT_EQ(read({"--autoresume=no"}).error().message(), "--autoresume must be true or false, found 'no'");
  ::setenv("RATOON_AUTORESUME", "false", 1);
  EXPECT_FALSE(read({})->autoresume);
  EXPECT_TRUE(read({"--autoresume"})->autoresume);
  ::unsetenv("RATOON_AUTORESUME");
}

TEST(AutoresumeOption, CannotBeTurnedOffWhereACoordinatorStartsMembers) {
  Options options{.save_folder = "f", .run_name = "r"};
  options.member.coordinator_url = "http://127.0.0.1:9443";
  EXPECT_TRUE(session::check_options(options));
  options.autoresume = false;
  const auto refused = session::check_options(options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(),
              testing::AllOf(HasSubstr("--autoresume cannot be false if a coordinator restarts members"),
                             HasSubstr("leave it out; to begin anew, use `ratoon run --fresh`")));
}

class Autoresume : public testing::Test {
 protected:
  // A start that is lost after `lost_at` steps, or has trained 20; returns the step at which it began.
  int start(std::uint64_t lost_at = 20) {
    options_.save_folder = folder_.path().string();
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      std::uint64_t sum = 0;
      session.track("sum", sum);
      began_.reset();
      for (const std::uint64_t step : session.steps(20)) {
        if (!began_) began_ = step;
        if (step == lost_at) throw std::runtime_error("lost");
      }
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = "", .run_name = "run", .save_every = Every::steps(5), .autoresume = false};
  std::string said_;
  std::optional<std::uint64_t> began_;
};

TEST_F(Autoresume, WithoutItAStartThatFindsCheckpointsIsRefused) {
  EXPECT_EQ(start(12), 1);
  EXPECT_EQ(began_, 0u) << "there is nothing yet";
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run" / "launches")) << "nobody starts it again";
  EXPECT_EQ(start(), 82);
  EXPECT_THAT(said_,
              HasSubstr("the run has checkpoints up to step 10 of attempt 1, but must not resume from them "
                        "(--autoresume false): set --autoresume=true to resume from them, "
                        "--overwrite=true to set them aside"));
  options_.overwrite = true;
  EXPECT_EQ(start(12), 1);
  EXPECT_EQ(began_, 0u) << "one of the ways on";
  options_.overwrite = false;
  EXPECT_EQ(start(), 82);
  options_.autoresume = true;
  EXPECT_EQ(start(), 0);
  EXPECT_EQ(began_, 10u) << "the other one";
}

TEST_F(Autoresume, WhatALauncherStartsAgainGoesOn) {
  options_.group.launches = {{.name = "ratoon-1"}};
  EXPECT_EQ(start(7), 1);
  EXPECT_EQ(start(12), 1);
  EXPECT_EQ(began_, 5u);
  options_.group.launches = {{.name = "ratoon-2"}};
  EXPECT_EQ(start(), 82) << "another launch";
  EXPECT_EQ(start(), 82) << "and what it starts again";
  options_.group.launches = {{.name = "ratoon-1"}};
  EXPECT_EQ(start(), 82) << "that launch is over";
}

// torchrun names its launches "none", and a job that Slurm requeues has its old number.
TEST_F(Autoresume, ANameThatOthersMayHaveIsOfTheSameLaunchOnceItWasStartedAgain) {
  options_.group.launches = {{.name = "torchrun-none", .restarts = 0}, {.name = "slurm-12", .restarts = 0}};
  EXPECT_EQ(start(7), 1);
  options_.group.launches[0].restarts = 1;
  EXPECT_EQ(start(12), 1);
  EXPECT_EQ(began_, 5u);
  options_.group.launches = {{.name = "torchrun-none", .restarts = 0}, {.name = "slurm-12", .restarts = 1}};
  EXPECT_EQ(start(17), 1) << "the requeued job has a launch of torchrun of its own";
  EXPECT_EQ(began_, 10u);
  EXPECT_EQ(start(), 82) << "a second start in that job";
  options_.group.launches[0].restarts = 1;
  EXPECT_EQ(start(), 82) << "was refused before it was started again";
}

TEST(LaunchRecord, IsOfTheNewestStartAlone) {
  const test::TemporaryFolder folder;
  const auto home = checkpoint::RealDisk::open_folder(folder / "run").value();
  const std::vector<LaunchName> first{{.name = "a"}, {.name = "b", .restarts = 3}};
  EXPECT_FALSE(*was_accepted_before(*home, first));
  ASSERT_TRUE(record_accepted_launches(*home, first, "m"));
  EXPECT_TRUE(*was_accepted_before(*home, {{.name = "a"}}));
  EXPECT_TRUE(*was_accepted_before(*home, {{.name = "b", .restarts = 4}}));
  EXPECT_FALSE(*was_accepted_before(*home, {{.name = "b", .restarts = 3}}));
  EXPECT_FALSE(*was_accepted_before(*home, {{.name = "c"}}));
  EXPECT_FALSE(*was_accepted_before(*home, {}));
  for (const char* name : {"notes", ".0.tmp"}) test::write_text(folder / "run/launches" / name, "");
  ASSERT_TRUE(record_accepted_launches(*home, {{.name = "b", .restarts = 4}}, "m"));
  ASSERT_TRUE(record_accepted_launches(*home, {{.name = "b", .restarts = 4}}, "m")) << "the same once more";
  EXPECT_FALSE(*was_accepted_before(*home, {{.name = "a"}}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "run/launches"), {}), 1);
}

}  // namespace
}  // namespace ratoon::autoresume_test
