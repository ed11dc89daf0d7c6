#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/options.h>

#include "base/contract/names.h"

namespace ratoon {
namespace {

namespace env = names::env;

class OptionsTest : public testing::Test {
 protected:
  OptionsTest() { clear(); }
  ~OptionsTest() override { clear(); }
  static void clear() {
    for (const char* name :
         {env::kSaveFolder, env::kRunName, env::kSaveEverySteps, env::kKeepLast, env::kCoordinatorUrl,
          env::kTokenFile, env::kJobNamespace, env::kJobName, env::kRole, env::kMemberUid, env::kIndex,
          env::kIncarnation, env::kLocalRank, env::kProcessesPerNode, env::kLifelineFd, env::kPodIp,
          env::kTerminationFile, env::kMetricsPort})
      ::unsetenv(name);
  }
  static void set(const char* name, const char* value) { ::setenv(name, value, 1); }
  static Result<Options> read(std::vector<const char*> words, Options defaults = {}) {
    words.insert(words.begin(), "trainer");
    return Options::from_environment(static_cast<int>(words.size()), words.data(), std::move(defaults));
  }
  // With what is required; `words` come on top.
  static Result<Options> read_more(std::vector<const char*> words) {
    return read(std::move(words), {.save_folder = "f", .run_name = "r"});
  }
};

TEST_F(OptionsTest, AFlagOutweighsTheEnvironmentAndThatTheProgram) {
  const Options defaults{.save_folder = "from-code", .run_name = "r", .save_every_steps = 7};
  EXPECT_EQ(read({}, defaults)->save_folder, "from-code");
  EXPECT_EQ(read({}, defaults)->save_every_steps, 7u);
  set(env::kSaveFolder, "from-environment");
  set(env::kSaveEverySteps, "8");
  EXPECT_EQ(read({}, defaults)->save_folder, "from-environment");
  EXPECT_EQ(read({}, defaults)->save_every_steps, 8u);
  EXPECT_EQ(read({"--save-folder", "from-flag"}, defaults)->save_folder, "from-flag");
  EXPECT_EQ(read({"--save-every=9"}, defaults)->save_every_steps, 9u);
}

TEST_F(OptionsTest, HaveDefaults) {
  const auto options = read({"--save-folder", "f", "--run-name", "r"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->save_every_steps, 100u);
  EXPECT_EQ(options->keep_last, 3u);
  EXPECT_EQ(options->member.coordinator_url, "");
  EXPECT_EQ(options->member.processes_per_node, 1u);
  EXPECT_EQ(options->member.lifeline_fd, -1);
  EXPECT_EQ(options->member.metrics_port, std::nullopt);
}

TEST_F(OptionsTest, APodSaysWhereItIsAndWhatItShows) {
  set(env::kPodIp, "10.0.0.7");
  set(env::kTerminationFile, "/dev/termination-log");
  set(env::kMetricsPort, "0");
  const auto options = read_more({});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->member.pod_ip, "10.0.0.7");
  EXPECT_EQ(options->member.termination_file, "/dev/termination-log");
  EXPECT_EQ(options->member.metrics_port, 0u);
  set(env::kMetricsPort, "-1");
  EXPECT_THAT(read_more({}).error().message(),
              testing::HasSubstr("RATOON_METRICS_PORT must be a whole number"));
}

TEST_F(OptionsTest, TheMembersPlaceComesFromTheEnvironmentAlone) {
  set(env::kCoordinatorUrl, "http://127.0.0.1:9443");
  set(env::kTokenFile, "/token");
  set(env::kJobNamespace, "team-a");
  set(env::kJobName, "digits");
  set(env::kRole, "worker");
  set(env::kMemberUid, "u-1");
  set(env::kIndex, "3");
  set(env::kIncarnation, "2");
  set(env::kLocalRank, "1");
  set(env::kProcessesPerNode, "8");
  set(env::kLifelineFd, "3");
  const auto member = read_more({})->member;
  EXPECT_EQ(member.coordinator_url, "http://127.0.0.1:9443");
  EXPECT_EQ(member.token_file, "/token");
  EXPECT_EQ(member.job_namespace, "team-a");
  EXPECT_EQ(member.job_name, "digits");
  EXPECT_EQ(member.role, "worker");
  EXPECT_EQ(member.member_uid, "u-1");
  EXPECT_EQ(member.index, 3u);
  EXPECT_EQ(member.incarnation, 2u);
  EXPECT_EQ(member.local_rank, 1u);
  EXPECT_EQ(member.processes_per_node, 8u);
  EXPECT_EQ(member.lifeline_fd, 3);
}

TEST_F(OptionsTest, FlagsOfTheProgramAreLeftToIt) {
  const auto options =
      read_more({"--steps", "400", "--save-every-now-and-then", "--keep-last", "5", "-v", "file"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->keep_last, 5u);
  EXPECT_EQ(options->save_every_steps, 100u);
}

TEST_F(OptionsTest, TheLastOfTwoFlagsCountsAndNothingAfterTwoDashes) {
  EXPECT_EQ(read_more({"--keep-last", "5", "--keep-last=6"})->keep_last, 6u);
  EXPECT_EQ(read_more({"--", "--keep-last", "5"})->keep_last, 3u);
  EXPECT_EQ(Options::from_environment(0, nullptr, {.save_folder = "f", .run_name = "r"})->keep_last, 3u);
}

TEST_F(OptionsTest, AreRefusedWithASentence) {
  const struct {
    std::vector<const char*> words;
    const char* sentence;
  } cases[] = {
      {{"--save-folder="}, "no folder to save to: pass --save-folder FOLDER or set RATOON_SAVE_FOLDER"},
      {{"--run-name="},
       "no name for the run (a folder name, found ''): pass --run-name NAME or set RATOON_RUN_NAME"},
      {{"--run-name=a/b"},
       "no name for the run (a folder name, found 'a/b'): pass --run-name NAME or set RATOON_RUN_NAME"},
      {{"--run-name=.."},
       "no name for the run (a folder name, found '..'): pass --run-name NAME or set RATOON_RUN_NAME"},
      {{"--save-every", "0"}, "--save-every must be at least 1 step"},
      {{"--keep-last", "1"}, "--keep-last must be at least 2 checkpoints"},
      {{"--save-every", "ten"},
       "--save-every must be a whole number up to 18446744073709551615, found 'ten'"},
      {{"--save-every", "-1"}, "--save-every must be a whole number up to 18446744073709551615, found '-1'"},
      {{"--save-every", "1.5"},
       "--save-every must be a whole number up to 18446744073709551615, found '1.5'"},
      {{"--save-every", " 5"}, "--save-every must be a whole number up to 18446744073709551615, found ' 5'"},
      {{"--save-every", ""}, "--save-every must be a whole number up to 18446744073709551615, found ''"},
      {{"--save-every", "18446744073709551616"},
       "--save-every must be a whole number up to 18446744073709551615, found '18446744073709551616'"},
      {{"--save-every"}, "--save-every needs a value after it"},
  };
  for (const auto& c : cases) {
    const auto options = read_more(c.words);
    ASSERT_FALSE(options) << c.sentence;
    EXPECT_EQ(options.error().message(), c.sentence);
    EXPECT_EQ(options.error().kind(), ErrorKind::kInvalid);
  }
  set(env::kIndex, "4294967296");
  EXPECT_EQ(read_more({}).error().message(),
            "RATOON_INDEX must be a whole number up to 4294967295, found '4294967296'");
}

}  // namespace
}  // namespace ratoon
