#include "agent/src/session/options/location_options.h"

#include <cerrno>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/session/locations/claimed_locations.h"
#include "agent/src/session/options/check_options.h"
#include "agent/src/session/options/staging_options.h"
#include "agent/src/session/state/final_weights.h"
#include "tests/support/failing_calls/draw.h"

namespace ratoon::session::location_options_test {
namespace {

TEST(DescribeSaving, SaysHowOftenIsSavedAndWhatIsKept) {
  Options options{.save_folder = "/runs", .run_name = "digits", .member = {}};
  EXPECT_EQ(describe_saving(options),
            "saves every 100 steps (--save-every) and keeps the newest 3 (--keep-last) in /runs/digits");
  options.stores = {"s3://bucket/runs", "/mnt/other"};
  EXPECT_THAT(describe_saving(options),
              testing::EndsWith(
                  "in /runs/digits, with copies in s3://bucket/runs/digits, /mnt/other/digits (--stores)"));
  options.stores.clear();
  options.save_every = Every::automatic();
  options.keep_last = kKeepAllCheckpoints;
  options.save_folder = "s3://bucket/runs";
  EXPECT_EQ(describe_saving(options),
            "saves at the interval that costs least (--save-every) and keeps all (--keep-last) in "
            "s3://bucket/runs/digits");
  options.keep_last = 0;
  EXPECT_THAT(describe_saving(options),
              testing::HasSubstr("keeps none that every store holds (--keep-last)"));
}

// The program may change its working folder between two uses of the path.
TEST(MakePathsAbsolute, LeavesAddressesAndNamesAsTheyAre) {
  const std::string here = std::filesystem::current_path();
  Options options{.save_folder = "runs/../a", .run_name = "digits", .member = {}};
  options.final_weights = "w.safetensors";
  make_paths_absolute(options);
  EXPECT_EQ(options.save_folder, here + "/runs/../a") << "runs may be a link";
  EXPECT_EQ(options.final_weights, "w.safetensors") << "it is in the run's folder";
  options.final_weights = "out/w.safetensors";
  options.save_folder = "s3://bucket/runs";
  make_paths_absolute(options);
  EXPECT_EQ(options.final_weights, here + "/out/w.safetensors");
  EXPECT_EQ(options.save_folder, "s3://bucket/runs");
}

// A link among the manifests would end the next start.
TEST(CheckPlaces, ALatestNameStaysOutOfTheRunsOwnFolders) {
  Options options{.save_folder = "/runs", .run_name = "packs"};
  for (const char* name : {"manifests/s0000000001.a0001.json", "lock", "{run_name}/{rank}"}) {
    options.latest_name = name;
    const auto checked = check_locations(options);
    ASSERT_FALSE(checked) << name;
    EXPECT_THAT(checked.error().message(), testing::HasSubstr("a name that the run uses in its folder"));
  }
  for (const char* name : {"links/manifests", "ep{epoch}-ba{batch}", "{epoch}/{timestamp}-{rank}"}) {
    options.latest_name = name;
    EXPECT_TRUE(check_locations(options)) << name;
  }
}

// Data staged for one place is never written to another: a folder is identified by its mark rather than its
// path, a bucket only by its address.
TEST(SaverOptions, SlotsAreNamedAfterTheWholePlace) {
  std::set<std::string> names;
  const auto add = [&](const std::string& save_folder, const std::string& run_name) {
    names.insert(saver_options({.save_folder = save_folder, .run_name = run_name}).slot_file_prefix);
  };
  for (const char* save_folder :
       {"s3://bucket/runs", "s3://other/runs", "s3://bucket/runs/old", "s3://bucket", "/runs"})
    for (const char* run_name : {"digits", "letters"}) add(save_folder, run_name);
  EXPECT_EQ(names.size(), 10u);
  add("s3://bucket/runs", "digits");
  EXPECT_EQ(names.size(), 10u) << "and the next process in the same place finds them";
}

// The machine has one free memory, however its processes were started.
TEST(AutomaticBudget, ProcessesOfAMachineShareHalfOfWhatIsFree) {
  constexpr std::uint64_t kFree = 1'600;
  EXPECT_EQ(automatic_budget({.member = {}}, kFree), 800u);
  EXPECT_EQ(automatic_budget({.member = {.processes_per_node = 8}}, kFree), 100u);
  EXPECT_EQ(automatic_budget({.member = {}, .group = {.size = 16, .local_size = 4}}, kFree), 200u);
  EXPECT_EQ(automatic_budget({.member = {}, .group = {.local_size = 0}}, kFree), 800u);
}

// At its end the run would put its weights in the place of a manifest.
TEST(CheckPlaces, FinalWeightsStayOutOfWhatTheRunNeeds) {
  Options options{.save_folder = "/runs", .run_name = "digits"};
  for (const char* name :
       {"lock", "packs", "claims", "meeting", "/runs/digits/claims/c0000000001.txt", "/runs/digits/lock",
        "/runs/other/../digits/packs/a0001/s0000000010/r0000.safetensors",
        "/runs//digits/./manifests/s0000000010.a0001.json"}) {
    options.final_weights = name;
    const auto checked = check_locations(options);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(checked.error().message(), testing::HasSubstr("a name that the run uses in its folder"))
        << name;
  }
  for (const char* name : {"", "weights.safetensors", "/runs/digits/weights/lock", "/runs/lock",
                           "packs/model", "/runs/digits-2/lock", "../lock"}) {
    options.final_weights = name;
    EXPECT_TRUE(check_locations(options)) << name;
  }
  for (const char* name : {"/runs/digits/", "..", ".", "out/."}) {
    options.final_weights = name;
    EXPECT_THAT(check_locations(options).error().message(), testing::HasSubstr("which is a folder")) << name;
  }
  options.final_weights = "latest-rank0";
  EXPECT_THAT(check_locations(options).error().message(),
              testing::HasSubstr("the name of the link of --latest-name"));
  options.latest_name = "";
  EXPECT_TRUE(check_locations(options));
  options.final_weights = "/anywhere/lock";
  options.save_folder = "s3://bucket/runs";
  EXPECT_TRUE(check_locations(options));
}

TEST(MissingWeightsAdvice, ARunInABucketSaysHowToGetItsWeights) {
  Options options;
  options.run_name = "digits";
  EXPECT_EQ(missing_weights_advice(options), "") << "a run in a folder writes the file";
  options.save_folder = "s3://bucket/runs";
  EXPECT_THAT(missing_weights_advice(options),
              testing::HasSubstr("`ratoon checkpoint export s3://bucket/runs/digits weights.safetensors`"));
  options.final_weights = "out/w.safetensors";
  EXPECT_EQ(missing_weights_advice(options), "") << "a name with a folder";
  options.final_weights = "";
  EXPECT_EQ(missing_weights_advice(options), "") << "no file was requested";
}

TEST(CheckOptions, ARunsNameHasNoControlCharacters) {
  for (const char* name : {"a\nb", "a\x1b[31m", "a\x7f"})
    EXPECT_FALSE(check_options({.save_folder = "/runs", .run_name = name})) << name;
  EXPECT_TRUE(check_options({.save_folder = "/runs", .run_name = "d\u00e9j\u00e0 vu"}));
}

TEST(CheckPlaces, AnAddressThatLacksASlashIsNoFolder) {
  Options options{.save_folder = "/runs", .run_name = "r"};
  for (const char* text : {"s3:/bucket", "s3:bucket", "https:/host/x", "file:/runs", "S3:/bucket"}) {
    options.stores = {text};
    const auto refused = check_locations(options);
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().message(),
                testing::HasSubstr("--stores: the store '" + std::string(text) +
                                   "': the text looks like a URI without its '//'"));
  }
  for (const char* folder : {"./s3:/bucket", "./s3//bucket", "s3/bucket", "s3", "files//of/mine"}) {
    options.stores = {folder};
    EXPECT_TRUE(check_locations(options)) << folder;
  }
  options.save_folder = "s3:/bucket";
  EXPECT_FALSE(check_locations(options));
}

TEST(CheckPlaces, NeitherIsOneThatLacksItsColon) {
  Options options{.save_folder = "/runs", .run_name = "r"};
  for (const char* text : {"s3//bucket", "S3//bucket/a", "https//host/x", "file///runs"}) {
    options.stores = {text};
    const auto refused = check_locations(options);
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().message(),
                testing::HasSubstr("--stores: the store '" + std::string(text) +
                                   "': the text looks like a URI without its ':'"));
  }
}

// The next start of the same job is no stranger, and neither a pod's folder nor its name distinguishes jobs.
TEST(OwnerOf, SaysWhoseAPlaceIs) {
  Options options{.save_folder = "/data/runs", .run_name = "r"};
  EXPECT_EQ(owner_of(options, "node-1", "", "x").job, "/data/runs/r on node-1");
  options.member.job_namespace = "team-a";
  options.member.job_name = "digits";
  EXPECT_EQ(owner_of(options, "node-1", "", "x").job, "/data/runs/r on node-1") << "a local run";
  options.member.pod_ip = "10.0.0.7";
  EXPECT_EQ(owner_of(options, "digits-worker-0-i3", "", "x"),
            (checkpoint::Owner{.job = "team-a/digits", .start = "x"}))
      << "an operator that says no UID";
  EXPECT_EQ(owner_of(options, "digits-worker-0-i3", "6f1c", "x").job, "team-a/digits of 6f1c");
  options.member.pod_ip = "";
  EXPECT_EQ(owner_of(options, "node-1", "6f1c", "x").job, "/data/runs/r on node-1 of 6f1c");
}

TEST(KeepsClaimsAlive, OneProcessOfEachOfAFewMembersDoes) {
  const auto member = [](std::uint32_t index, std::uint32_t local_rank) {
    return keeps_claims_alive(
        {.member = {.coordinator_url = "http://c", .index = index, .local_rank = local_rank}});
  };
  EXPECT_TRUE(member(0, 0));
  EXPECT_TRUE(member(3, 0));
  EXPECT_FALSE(member(4, 0));
  EXPECT_FALSE(member(0, 1));
  const auto rank = [](std::uint32_t number) {
    return keeps_claims_alive({.group = {.rank = number, .size = 8}});
  };
  EXPECT_TRUE(rank(3));
  EXPECT_FALSE(rank(4));
}

// A clone of a disk has all its files, and the name of the host, too.
TEST(PlaceOptions, AClonedMachineIsNoOwnerOfTheSameClaim) {
  const Options options{.save_folder = "/data/runs", .run_name = "r", .member = {}};
  const auto owner_on = [&](const std::string& boot) {
    return owner_of(options, host_name_with_boot_id("node-1", boot), "6f1c", "x");
  };
  const checkpoint::Owner first = owner_on("0c1e");
  const checkpoint::Owner clone = owner_on("77aa");
  EXPECT_EQ(checkpoint::compare_jobs(first.job, owner_on("0c1e").job), checkpoint::JobRelation::kSame);
  EXPECT_EQ(checkpoint::compare_jobs(first.job, clone.job), checkpoint::JobRelation::kNamesake);
  EXPECT_TRUE(checkpoint::have_same_uid(first.job, clone.job));
  const checkpoint::ClaimTimes times;
  const auto held = [&](std::uint64_t number) {
    return checkpoint::ClaimRecord{.number = number, .owner = first};
  };
  checkpoint::ClaimObservation seen{
      .first = held(1), .now = held(2), .observed_duration = times.namesake_wait};
  EXPECT_EQ(judge_claim(clone, seen, times), checkpoint::ClaimVerdict::kRefuse) << "both train";
  seen = {.first = held(1), .now = held(1), .unchanged_duration = times.lease};
  EXPECT_EQ(judge_claim(clone, seen, times), checkpoint::ClaimVerdict::kTake)
      << "after a power cut, started anew";
  EXPECT_NE(owner_on_this_host(options, "6f1c").value().job.find("+"), std::string::npos);
}

TEST(OwnerOnThisHost, IsNoOtherOneWhereTheMachineCannotBeToldFromOthersForNow) {
  for (const auto call : {test::failing::Call::kOpenToRead, test::failing::Call::kReadFile}) {
    const test::failing::Fault fault(call, ENOMEM);
    const auto owner = owner_on_this_host(Options{}, "6f1c");
    ASSERT_FALSE(owner);
    EXPECT_EQ(owner.error().kind(), ErrorKind::kUnavailable);
    EXPECT_THAT(owner.error().message(), testing::HasSubstr("Cannot allocate memory"));
  }
}

}  // namespace
}  // namespace ratoon::session::location_options_test
