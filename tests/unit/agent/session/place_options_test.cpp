#include "agent/src/session/place_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/session/check_options.h"

namespace ratoon::session {
namespace {

TEST(DescribeSaving, SaysHowOftenIsSavedAndWhatIsKept) {
  Options options{.save_folder = "/runs", .run_name = "digits", .member = {}};
  EXPECT_EQ(describe_saving(options),
            "saves every 100 steps (--save-every) and keeps the newest 3 (--keep-last) in /runs/digits");
  options.save_every = Every::automatic();
  options.keep_last = kKeepAllCheckpoints;
  options.save_folder = "s3://bucket/runs";
  EXPECT_EQ(describe_saving(options),
            "saves as often as pays (--save-every) and keeps all (--keep-last) in s3://bucket/runs/digits");
  options.keep_last = 0;
  EXPECT_THAT(describe_saving(options),
              testing::HasSubstr("keeps none that every store holds (--keep-last)"));
}

// A link among the manifests would end the next start.
TEST(CheckPlaces, ALatestNameStaysOutOfTheRunsOwnFolders) {
  Options options{.save_folder = "/runs", .run_name = "packs"};
  for (const char* name : {"manifests/s0000000001.a0001.json", "lock", "{run_name}/{rank}"}) {
    options.latest_name = name;
    const auto checked = check_places(options);
    ASSERT_FALSE(checked) << name;
    EXPECT_THAT(checked.error().message(), testing::HasSubstr("where the run keeps what it needs"));
  }
  options.latest_name = "links/manifests";
  EXPECT_TRUE(check_places(options));
}

TEST(CheckOptions, ARunsNameHasNoControlCharacters) {
  for (const char* name : {"a\nb", "a\x1b[31m", "a\x7f"})
    EXPECT_FALSE(check_options({.save_folder = "/runs", .run_name = name})) << name;
  EXPECT_TRUE(check_options({.save_folder = "/runs", .run_name = "d\u00e9j\u00e0 vu"}));
}

}  // namespace
}  // namespace ratoon::session
