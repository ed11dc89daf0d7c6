#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/options.h>

#include "agent/src/session/options/location_options.h"
#include "agent/src/session/options/option_rows.h"
#include "base/contract/names.h"

namespace ratoon::options_test {
namespace {

namespace env = names::env;

class OptionsTest : public testing::Test {
 protected:
  OptionsTest() { clear(); }
  ~OptionsTest() override { clear(); }
  static void clear() {
    for (const char* name : {env::kSaveFolder,
                             env::kRunName,
                             env::kSaveEverySteps,
                             env::kKeepLast,
                             env::kCoordinatorUrl,
                             env::kTokenFile,
                             env::kJobNamespace,
                             env::kJobName,
                             env::kJobUid,
                             env::kRole,
                             env::kMemberUid,
                             env::kIndex,
                             env::kIncarnation,
                             env::kLocalRank,
                             env::kProcessesPerNode,
                             env::kLifelineFd,
                             env::kPodIp,
                             env::kTerminationFile,
                             env::kMetricsPort,
                             env::kStores,
                             env::kLoadFrom,
                             env::kLoadParts,
                             env::kAutoresume,
                             env::kOverwrite,
                             env::kKeepLastInStores,
                             env::kKeepEverySteps,
                             env::kKeepMib,
                             env::kLatestName,
                             env::kStagingFolder,
                             env::kStagingSlots,
                             env::kStagingMemoryMib,
                             env::kMaxMissedSaves,
                             env::kMaxDuration,
                             env::kResumeFrom,
                             env::kSkip,
                             env::kDiskTimeoutSeconds,
                             env::kDeterministic,
                             env::kSeed,
                             env::kGlobalBatch,
                             env::kFinalWeights})
      ::unsetenv(name);
  }
  static void set(const char* name, const char* value) { ::setenv(name, value, 1); }
  static Result<Options> read(std::vector<const char*> words, Options defaults = {}) {
    words.insert(words.begin(), "trainer");
    return Options::from_environment(static_cast<int>(words.size()), words.data(), std::move(defaults));
  }
  // The required words, followed by `words`.
  static Result<Options> read_more(std::vector<const char*> words) {
    return read(std::move(words), {.save_folder = "f", .run_name = "r"});
  }
};

TEST_F(OptionsTest, AFlagOutweighsTheEnvironmentAndThatTheProgram) {
  const Options defaults{.save_folder = "from-code", .run_name = "r", .save_every = Every::steps(7)};
  EXPECT_EQ(read({}, defaults)->save_folder, "from-code");
  EXPECT_EQ(read({}, defaults)->save_every, Every::steps(7));
  set(env::kSaveFolder, "from-environment");
  set(env::kSaveEverySteps, "8");
  EXPECT_EQ(read({}, defaults)->save_folder, "from-environment");
  EXPECT_EQ(read({}, defaults)->save_every, Every::steps(8));
  EXPECT_EQ(read({"--save-folder", "from-flag"}, defaults)->save_folder, "from-flag");
  EXPECT_EQ(read({"--save-every=9"}, defaults)->save_every, Every::steps(9));
}

TEST_F(OptionsTest, HaveDefaults) {
  const auto options = read({"--save-folder", "f", "--run-name", "r"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->save_every, Every::steps(100));
  EXPECT_EQ(options->keep_last, 3u);
  EXPECT_EQ(options->staging_folder, "");
  EXPECT_EQ(options->staging_slots, 2u);
  EXPECT_EQ(options->staging_memory_mib, 0u);
  EXPECT_EQ(options->max_missed_saves, 3u);
  EXPECT_EQ(options->disk_timeout_seconds, 300u);
  EXPECT_EQ(options->member.coordinator_url, "");
  EXPECT_EQ(options->member.processes_per_node, 1u);
  EXPECT_EQ(options->member.lifeline_fd, -1);
  EXPECT_EQ(options->member.metrics_port, std::nullopt);
}

TEST_F(OptionsTest, ASwitchNeedsNoValue) {
  EXPECT_FALSE(read_more({})->deterministic);
  EXPECT_TRUE(read_more({"--deterministic"})->deterministic);
  const auto both = read_more({"--deterministic", "--keep-last", "5"});
  EXPECT_TRUE(both->deterministic);
  EXPECT_EQ(both->keep_last, 5u);
  set(env::kDeterministic, "true");
  EXPECT_TRUE(read_more({})->deterministic);
  EXPECT_FALSE(read_more({"--deterministic", "false"})->deterministic);
  EXPECT_FALSE(read_more({"--deterministic=false"})->deterministic);
  EXPECT_THAT(read_more({"--overwrite", "yes"}).error().message(),
              testing::HasSubstr("--overwrite must be true or false, found 'yes'"));
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
  set(env::kCoordinatorCa, "pem");
  set(env::kCoordinatorName, "door.trees.svc");
  set(env::kTokenFile, "/token");
  set(env::kJobNamespace, "team-a");
  set(env::kJobName, "digits");
  set(env::kJobUid, "6f1c-0");
  set(env::kRole, "worker");
  set(env::kMemberUid, "u-1");
  set(env::kIndex, "3");
  set(env::kIncarnation, "2");
  set(env::kLocalRank, "1");
  set(env::kProcessesPerNode, "8");
  set(env::kLifelineFd, "3");
  const auto member = read_more({})->member;
  EXPECT_EQ(member.coordinator_url, "http://127.0.0.1:9443");
  EXPECT_EQ(member.coordinator_ca, "pem");
  EXPECT_EQ(member.coordinator_name, "door.trees.svc");
  EXPECT_EQ(member.token_file, "/token");
  EXPECT_EQ(member.job_namespace, "team-a");
  EXPECT_EQ(member.job_name, "digits");
  EXPECT_EQ(member.job_uid, "6f1c-0");
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
  EXPECT_EQ(options->save_every, Every::steps(100));
}

TEST_F(OptionsTest, TheLastOfTwoFlagsCountsAndNothingAfterTwoDashes) {
  EXPECT_EQ(read_more({"--keep-last", "5", "--keep-last=6"})->keep_last, 6u);
  EXPECT_EQ(read_more({"--", "--keep-last", "5"})->keep_last, 3u);
  EXPECT_EQ(Options::from_environment(0, nullptr, {.save_folder = "f", .run_name = "r"})->keep_last, 3u);
}

TEST_F(OptionsTest, SayWhereCheckpointsAreAndWhatIsKept) {
  const auto by_default = read_more({});
  EXPECT_TRUE(by_default->stores.empty());
  EXPECT_EQ(by_default->load_from, "");
  EXPECT_EQ(by_default->load_parts, "weights");
  EXPECT_FALSE(by_default->overwrite);
  EXPECT_EQ(by_default->keep_last_in_stores, 3u);
  EXPECT_EQ(by_default->latest_name, "latest-rank{rank}");
  set(env::kStores, "s3://bucket/runs,file:///mnt/other");
  set(env::kLoadFrom, "/runs/pretrained");
  set(env::kLoadParts, "state");
  set(env::kOverwrite, "true");
  const auto options = read_more({"--keep-last", "0", "--keep-last-in-stores", "all", "--keep-every", "1000",
                                  "--keep-mib", "5", "--latest-name", ""});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->stores, (std::vector<std::string>{"s3://bucket/runs", "file:///mnt/other"}));
  EXPECT_EQ(options->load_from, "/runs/pretrained");
  EXPECT_EQ(options->load_parts, "state");
  EXPECT_TRUE(options->overwrite);
  EXPECT_EQ(options->keep_last, 0u);
  EXPECT_EQ(options->keep_last_in_stores, kKeepAllCheckpoints);
  EXPECT_EQ(options->latest_name, "");
  const auto home = session::home_rules(*options);
  EXPECT_EQ(home.last, 0u);
  EXPECT_EQ(home.every_steps, 1000u);
  EXPECT_EQ(home.bytes_max, 5u << 20);
  EXPECT_EQ(session::store_rules(*options).last, checkpoint::kKeepAll);
  EXPECT_EQ(session::store_rules(*options).bytes_max, checkpoint::kKeepAll);
  const auto places = session::tier_locations(*options);
  EXPECT_EQ(places.folder, "f/r");
  EXPECT_EQ(places.stores, (std::vector<std::string>{"s3://bucket/runs/r", "file:///mnt/other/r"}));
  EXPECT_TRUE(read_more({"--stores="})->stores.empty()) << "as a file of the environment may have it";
}

TEST_F(OptionsTest, TheOnlyHomeMayBeAStore) {
  const Options options =
      read({"--save-folder", "s3://bucket/runs", "--run-name", "r", "--stores", "s3://other/runs"}).value();
  EXPECT_TRUE(session::is_home_in_store(options));
  const auto places = session::tier_locations(options);
  EXPECT_EQ(places.folder, "");
  EXPECT_EQ(places.stores, (std::vector<std::string>{"s3://bucket/runs/r", "s3://other/runs/r"}));
  EXPECT_EQ(session::owner_of(options, "node-1", "", "x").job, "s3://bucket/runs/r on node-1");
  EXPECT_FALSE(session::is_home_in_store(read_more({}).value()));
  EXPECT_FALSE(session::is_home_in_store({.save_folder = "s3"}));
}

TEST_F(OptionsTest, AStoreAsHomeIsRefusedWhereItCannotBe) {
  const struct {
    std::vector<const char*> words;
    const char* sentence;
  } cases[] = {
      {{"--save-folder=file:///data"},
       "--save-folder must be a folder's path or an s3:// bucket, found 'file:///data': leave out file://"},
      {{"--save-folder=https://host/runs"},
       "--save-folder must be a folder's path or an s3:// bucket, found 'https://host/runs': Ratoon only "
       "reads from web servers (--load-from)"},
      {{"--save-folder=s3://home/r", "--keep-last=0", "--stores=s3://more/r"},
       "--keep-last 0 removes a checkpoint from the run's folder once every store has it, but --save-folder "
       "'s3://home/r' is itself a store: keep 2 or more"},
      {{"--save-folder=s3://home/r", "--stores=s3://home/r"},
       "--stores names 's3://home/r', which is also the folder of --save-folder"}};
  for (const auto& c : cases) {
    const auto options = read_more(c.words);
    ASSERT_FALSE(options) << c.sentence;
    EXPECT_EQ(options.error().message(), c.sentence);
  }
  Options launched{.save_folder = "s3://home/runs", .run_name = "r"};
  launched.group.size = 2;
  EXPECT_THAT(session::check_locations(launched).error().message(),
              testing::StartsWith("ranks of a launch exchange their addresses in the run's folder, but "
                                  "'s3://home/runs' is no folder"));
}

TEST_F(OptionsTest, AmountsHaveUnitsAndANumberAloneIsOfSteps) {
  EXPECT_EQ(read_more({"--save-every", "20"})->save_every, Every::steps(20));
  EXPECT_EQ(read_more({"--save-every=0.5ep"})->save_every, Every::epochs({1, 2}));
  EXPECT_EQ(read_more({"--save-every", "10m"})->save_every, Every::duration(std::chrono::minutes(10)));
  EXPECT_TRUE(read_more({"--save-every", "auto"})->save_every.is_automatic());
  EXPECT_EQ(read_more({})->max_duration, std::nullopt);
  EXPECT_EQ(read_more({"--max-duration", "90ep"})->max_duration, Until::epochs(90));
  set(env::kMaxDuration, "2h");
  EXPECT_EQ(read_more({})->max_duration, Until::duration(std::chrono::hours(2)));
  for (const char* bad : {"0", "ten", "-1", " 5", "", "18446744073709551616"}) {
    const auto options = read_more({"--save-every", bad});
    ASSERT_FALSE(options) << bad;
    EXPECT_THAT(options.error().message(),
                testing::StartsWith("--save-every: '" + std::string(bad) + "' is not an amount of training"));
  }
  EXPECT_THAT(read_more({"--max-duration", "90"}).error().message(),
              testing::StartsWith("--max-duration: '90' is not an amount of training"))
      << "elsewhere a number means epochs";
}

TEST_F(OptionsTest, AreRefusedWithASentence) {
  const struct {
    std::vector<const char*> words;
    const char* sentence;
  } cases[] = {
      {{"--save-folder="}, "no folder to save to: pass --save-folder FOLDER or set RATOON_SAVE_FOLDER"},
      {{"--run-name="}, "no name for the run: pass --run-name NAME or set RATOON_RUN_NAME"},
      {{"--run-name=a/b"},
       "--run-name is 'a/b': expected the name of a folder, without '/' and control characters, and not "
       "beginning with '.'; --save-folder names the folder above it"},
      {{"--run-name=.."},
       "--run-name is '..': expected the name of a folder, without '/' and control characters, and not "
       "beginning with '.'; --save-folder names the folder above it"},
      {{"--keep-last", "1"},
       "--keep-last must be at least 2 checkpoints, or 'all', or 0 with --stores, found '1'"},
      {{"--keep-last", "0"},
       "--keep-last 0 removes a checkpoint from the run's folder once every store has it, but there is no "
       "store: add --stores, or keep 2 or more"},
      {{"--keep-last", "some"},
       "--keep-last must be a whole number up to 18446744073709551615, or 'all', found 'some'"},
      {{"--keep-last-in-stores", "1"},
       "--keep-last-in-stores must be at least 2 checkpoints, or 'all', found '1'"},
      {{"--keep-mib", "1099511627777"}, "--keep-mib must be at most 1099511627776, found '1099511627777'"},
      {{"--stores", "s3://abc/b,,s3://cde"},
       "--stores has an empty item between its commas, found 's3://abc/b,,s3://cde'"},
      {{"--stores", "s3://abc/b,"}, "--stores has an empty item between its commas, found 's3://abc/b,'"},
      {{"--stores", "https://host/runs"},
       "--stores must be folders or s3:// buckets, because Ratoon only reads from web servers, "
       "found 'https://host/runs'"},
      {{"--stores", "s3://abc/b,s3://abc/b"}, "--stores names 's3://abc/b' twice"},
      {{"--overwrite", "yes"}, "--overwrite must be true or false, found 'yes'"},
      {{"--latest-name", "latest{"},
       "--latest-name: the name pattern 'latest{' cannot be used: found a single brace, "
       "expected placeholders such as {rank}"},
      {{"--staging-slots", "17"}, "--staging-slots must be at most 16"},
      {{"--staging-memory-mib", "18446744073709551615"},
       "--staging-memory-mib must be at most 1099511627776"},
      {{"--hang-after", "soon"},
       "--hang-after must be auto, off, or a time from 1s to a year, such as 90s or 5m; found 'soon'"},
      {{"--leave-within", "0"}, "--leave-within must be 1 to 86400 seconds"},
      {{"--global-batch", "0"}, "--global-batch must be 1 to 268435456 samples, found 0"},
      {{"--global-batch", "268435457"}, "--global-batch must be 1 to 268435456 samples, found 268435457"},
      {{"--disk-timeout", "0"}, "--disk-timeout must be 1 to 86400 seconds"},
      {{"--keep-every", "ten"},
       "--keep-every must be a whole number up to 18446744073709551615, found 'ten'"},
      {{"--keep-every", "-1"}, "--keep-every must be a whole number up to 18446744073709551615, found '-1'"},
      {{"--keep-every", "1.5"},
       "--keep-every must be a whole number up to 18446744073709551615, found '1.5'"},
      {{"--keep-every", " 5"}, "--keep-every must be a whole number up to 18446744073709551615, found ' 5'"},
      {{"--keep-every", ""}, "--keep-every must be a whole number up to 18446744073709551615, found ''"},
      {{"--keep-every", "18446744073709551616"},
       "--keep-every must be a whole number up to 18446744073709551615, found '18446744073709551616'"},
      {{"--save-every"}, "--save-every needs a value after it"},
  };
  for (const auto& c : cases) {
    const auto options = read_more(c.words);
    ASSERT_FALSE(options) << c.sentence;
    EXPECT_EQ(options.error().message(), c.sentence);
    EXPECT_EQ(options.error().kind(), ErrorKind::kInvalid);
  }
  set(env::kCoordinatorUrl, "http://127.0.0.1:9443");
  EXPECT_THAT(read_more({"--latest-name", "latest"}).error().message(), testing::HasSubstr("add {rank}"));
  EXPECT_TRUE(read_more({"--overwrite", "true"})) << "its coordinator knows when a job begins";
  set(env::kIndex, "4294967296");
  EXPECT_EQ(read_more({}).error().message(),
            "RATOON_INDEX must be a whole number up to 4294967295, found '4294967296'");
}

TEST_F(OptionsTest, ALatestNameTellsRanksOfALaunchApart) {
  Options options{.save_folder = "f", .run_name = "r", .latest_name = "latest"};
  EXPECT_TRUE(session::check_locations(options));
  options.group.size = 2;
  const auto checked = session::check_locations(options);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message(), testing::HasSubstr("add {rank}"));
  options.latest_name = "latest-{rank}";
  EXPECT_TRUE(session::check_locations(options));
}

// The options for the author and for the users of a trainer: one table.
TEST_F(OptionsTest, HelpAndTheDocumentAreTheTable) {
  std::ifstream in("docs/reference/options.md");
  const std::string document{std::istreambuf_iterator<char>(in), {}};
  const std::string table = session::help_table({});
  EXPECT_THAT(document, testing::HasSubstr("|---|---|---|---|\n" + table + "\n"))
      << "docs/reference/options.md should hold:\n"
      << table;
  const auto by_default =
      Options::from_environment(0, nullptr, {.save_folder = "/runs", .run_name = "digits"});
  ASSERT_TRUE(by_default) << "nothing that the document calls a default is needed";
}

TEST_F(OptionsTest, HelpNamesEveryFlagThatIsTakenWithTheProgramsDefaults) {
  const auto asked = read({"--ratoon-help"}, {.save_folder = "", .run_name = "digits"});
  ASSERT_TRUE(asked) << "though nothing says where to save: " << asked.error().message();
  Options options;
  std::size_t lines = 1;
  for (const auto& row : session::option_rows(options)) {
    if (row.flag == nullptr) continue;
    ++lines;
    EXPECT_THAT(asked->help, testing::HasSubstr(std::string("\n") + row.flag + ", " + row.variable + ": "));
    EXPECT_NE(std::string(row.meaning), "") << row.flag;
  }
  EXPECT_EQ(std::count(asked->help.begin(), asked->help.end(), '\n'), static_cast<std::ptrdiff_t>(lines));
  EXPECT_THAT(asked->help, testing::HasSubstr("--run-name, RATOON_RUN_NAME: the name of the run's own folder "
                                              "in the save folder; required [digits]\n"));
  EXPECT_THAT(asked->help, testing::HasSubstr("--save-every, RATOON_SAVE_EVERY_STEPS: "));
  EXPECT_THAT(asked->help, testing::HasSubstr("[100st]\n"));
  EXPECT_EQ(read_more({"--", "--ratoon-help"})->help, "") << "that is the program's";
}

}  // namespace
}  // namespace ratoon::options_test
