#include "agent/src/checkpoint/tiers/name_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::checkpoint::name_pattern_test {
namespace {

using testing::HasSubstr;

const PatternValues kFacts{.run_name = "digits",
                           .epoch = 4,
                           .batch = 1200,
                           .rank = 3,
                           .timestamp = *parse_rfc3339("2026-11-21T11:38:21.250Z")};

TEST(NamePattern, EachPlaceholderGivesWhatItSays) {
  EXPECT_EQ(*expand_name("ep{epoch}-ba{batch}-{rank}.pt", kFacts), "ep4-ba1200-3.pt");
  EXPECT_EQ(*expand_name("{run_name}/checkpoints/latest-rank{rank}", kFacts),
            "digits/checkpoints/latest-rank3");
  EXPECT_EQ(*expand_name("{timestamp}", kFacts), "2026-11-21T11-38-21.250Z");
  EXPECT_EQ(*expand_name(kLatestPattern, kFacts), "latest-rank3");
  EXPECT_EQ(*expand_name("plain", kFacts), "plain");
}

TEST(NamePattern, AnUnknownPlaceholderIsAnError) {
  const auto refused = expand_name("ep{epoch}-{step}.pt", kFacts);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(refused.error().message(),
              HasSubstr("unknown placeholder {step}: expected {run_name}, {epoch}"));
  for (const char* pattern :
       {"{}", "{epoch", "epoch}", "{epoch{batch}}", "}{", "{Epoch}", "{ epoch}", "{rank:02}"})
    EXPECT_FALSE(expand_name(pattern, kFacts)) << pattern;
}

TEST(NamePattern, ANameStaysBelowItsFolder) {
  for (const char* pattern : {"", "/latest", "../latest", "a//b", "a/", "."})
    EXPECT_FALSE(expand_name(pattern, kFacts)) << pattern;
  EXPECT_FALSE(expand_name("{run_name}/latest", {.run_name = ".."}));
}

TEST(NamePattern, RanksDoNotShareAName) {
  EXPECT_TRUE(check_pattern("latest", 1));
  EXPECT_TRUE(check_pattern("latest-rank{rank}", 8));
  const auto shared = check_pattern("ep{epoch}.pt", 8);
  ASSERT_FALSE(shared);
  EXPECT_THAT(shared.error().message(), HasSubstr("add {rank}"));
  EXPECT_FALSE(check_pattern("{seconds}", 1));
}

TEST(NamePattern, ItsOwnNamesAreToldFromOthers) {
  for (const char* pattern : {"ep{epoch}-ba{batch}-{rank}.pt", "{epoch}{batch}{rank}0", "{timestamp}{rank}",
                              "{run_name}/{run_name}-{epoch}", "plain"})
    EXPECT_TRUE(can_expand_to(pattern, *expand_name(pattern, kFacts), "digits")) << pattern;
  for (const char* name : {"", "ep", "epx.pt", "ep4", "ep4.ptx", "xep4.pt", "ep-4.pt", "ep 4.pt", "ep.pt"})
    EXPECT_FALSE(can_expand_to("ep{epoch}.pt", name, "digits")) << name;
  EXPECT_FALSE(can_expand_to("{run_name}-{rank}", "letters-3", "digits"));
  for (const char* time : {"2026-11-21T11:38:21.250Z", "2026-11-21T11-38-21Z", "2026-11-21T11-38-21.250"})
    EXPECT_FALSE(can_expand_to("{timestamp}", time, "digits")) << time;
}

TEST(NamePattern, SaysWhatStaysTheSame) {
  for (const char* pattern : {"ep{epoch}", "{batch}/x", "{rank}-{timestamp}"})
    EXPECT_TRUE(changes_with_checkpoints(pattern)) << pattern;
  for (const char* pattern : {"latest-rank{rank}", "{run_name}/latest", "epoch"})
    EXPECT_FALSE(changes_with_checkpoints(pattern)) << pattern;
  EXPECT_EQ(fixed_beginning("{run_name}/at-{run_name}-{epoch}{run_name}", "a"), "a/at-a-");
  EXPECT_EQ(fixed_beginning("{epoch}", "a"), "");
  EXPECT_EQ(fixed_beginning("plain", "a"), "plain");
}

}  // namespace
}  // namespace ratoon::checkpoint::name_pattern_test
