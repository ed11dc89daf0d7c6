#include "agent/src/session/place_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace ratoon::session
