#include "cli/checkpoint/run_location.h"

#include <gmock/gmock.h>

#include "tests/unit/cli/checkpoint/run_fixture.h"

namespace ratoon::cli::run_location_test {
namespace {

using testing::HasSubstr;

class RunLocationTest : public RunFixture {
 protected:
  static Error refusal(const std::string& address) { return RunLocation::open(address).error(); }
};

TEST_F(RunLocationTest, AFolderHasTwoNames) {
  commit_plain(id(1, 10));
  for (const std::string& address : {run_.string(), run_.string() + "/", "file://" + run_.string()}) {
    const auto place = RunLocation::open(address);
    ASSERT_TRUE(place) << place.error().message();
    EXPECT_EQ(take_survey(place->disk()).value().checkpoints.size(), 1u) << address;
    EXPECT_TRUE(place->written_at(checkpoint::manifest_path(id(1, 10))));
    EXPECT_FALSE(place->written_at(checkpoint::manifest_path(id(1, 20))));
  }
}

// Links that lead out of the run do not belong to it, for any name of its folder.
TEST_F(RunLocationTest, NoLinkIsFollowed) {
  commit_plain(id(1, 10));
  std::filesystem::rename(run_ / "packs", folder_ / "elsewhere");
  std::filesystem::create_directory_symlink(folder_ / "elsewhere", run_ / "packs");
  const auto place = RunLocation::open("file://" + run_.string());
  ASSERT_TRUE(place) << place.error().message();
  const auto survey = take_survey(place->disk());
  EXPECT_FALSE(survey && choose_checkpoint(*survey, {})) << "its packs are not in it";
}

TEST_F(RunLocationTest, WhatIsNoPlaceIsOneSentence) {
  EXPECT_THAT(refusal("ftp://host/x").message(), HasSubstr("a scheme that is not known; expected a folder"));
  EXPECT_THAT(refusal("s3://x").message(), HasSubstr("does not name a bucket"));
  EXPECT_THAT(refusal("file://host/x").message(), HasSubstr("names another machine"));
  EXPECT_THAT(refusal("https://host/runs/x").message(), HasSubstr("web servers are for reading"));
  for (const char* address : {"ftp://host/x", "s3://x", "https://host/runs/x"})
    EXPECT_EQ(code_of(refusal(address)), 82) << address;
}

}  // namespace
}  // namespace ratoon::cli::run_location_test
