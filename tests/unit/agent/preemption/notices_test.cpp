#include "agent/src/preemption/notices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::preemption::notices_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Timestamp at(Duration d) {
  return {.since_boot = d};
}

TEST(Notices, TheFirstToComeTrueDecides) {
  Notices notices;
  EXPECT_EQ(notices.first(), nullptr);
  EXPECT_EQ(notices.left(at(0s)), std::nullopt);
  EXPECT_TRUE(
      notices.set_notice("time limit", {.deadline = at(100s), .is_sudden = false, .why = "the time limit"}));
  EXPECT_FALSE(notices.set_notice("slurm", {.deadline = at(200s)}));
  EXPECT_TRUE(notices.set_notice("signal", {.deadline = at(50s), .why = "SIGTERM"}));
  EXPECT_EQ(notices.first()->why, "SIGTERM");
  EXPECT_EQ(notices.left(at(20s)), 30s);
  EXPECT_EQ(notices.left(at(60s)), -10s);
}

TEST(Notices, MayMoveAndBeTakenBack) {
  Notices notices;
  notices.set_notice("order", {.deadline = at(50s)});
  notices.set_notice("slurm", {.deadline = at(100s)});
  EXPECT_FALSE(notices.set_notice("order", {.deadline = at(70s)}));
  EXPECT_EQ(notices.left(at(0s)), 70s);
  EXPECT_TRUE(notices.set_notice("order", {.deadline = at(30s)}));
  EXPECT_TRUE(notices.withdraw("order"));
  EXPECT_FALSE(notices.withdraw("order"));
  EXPECT_EQ(notices.left(at(0s)), 100s);
  EXPECT_TRUE(notices.withdraw("slurm"));
  EXPECT_EQ(notices.first(), nullptr);
}

// Four hours into boot, at 1,700,000,000 s of the wall's clock, a minute after the process began.
KnownDeadlines known(std::optional<std::string_view> slurm, std::optional<std::string_view> limit) {
  return {.slurm_job_end_time = slurm,
          .time_limit = limit,
          .began = at(4h),
          .now = at(4h + 1min),
          .wall_now = {.since_epoch = 1'700'000'000s}};
}

TEST(KnownDeadlines, AreOfSlurmAndOfATimeLimit) {
  EXPECT_EQ(read_known_deadlines(known({}, {}))->first(), nullptr);
  const auto slurm = read_known_deadlines(known("1700000090", {}));
  EXPECT_EQ(slurm->left(at(4h + 1min)), 90s);
  EXPECT_FALSE(slurm->first()->is_sudden);
  const auto limit = read_known_deadlines(known({}, "1h30m"));
  EXPECT_EQ(limit->left(at(4h + 1min)), 89min);  // from the beginning of the process
  EXPECT_THAT(limit->first()->why, HasSubstr("1h30m"));
  EXPECT_EQ(read_known_deadlines(known("1700000090", "1h"))->left(at(4h + 1min)), 90s);
  EXPECT_EQ(read_known_deadlines(known("1600000000", {}))->left(at(4h + 1min)), -100'000'000s);  // long over
}

TEST(KnownDeadlines, ATimeLimitCountsFromTheStartOfTheLaunch) {
  KnownDeadlines ends = known({}, "1h30m");
  ends.time_limit_since = "1699999400.5";
  const auto limit = read_known_deadlines(ends);
  ASSERT_TRUE(limit) << limit.error().message();
  EXPECT_EQ(limit->left(at(4h + 1min)), 90min - 599s - 500ms);
  ends.time_limit_since = "1700000100";  // the clock was set back since
  EXPECT_EQ(read_known_deadlines(ends)->left(at(4h + 1min)), 90min);
  for (const char* text : {"", "soon", "-1", "1e300", "nan", "1700000090 "}) {
    ends.time_limit_since = text;
    const auto refused = read_known_deadlines(ends);
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().message(), HasSubstr("RATOON_TIME_LIMIT_SINCE"));
  }
  EXPECT_TRUE(read_known_deadlines({.time_limit_since = "soon"})) << "without a limit it means nothing";
}

TEST(KnownDeadlines, RefuseNonsenseWithASentence) {
  for (const char* text : {"", "soon", "-1", "1.5", "99999999999", "1700000090 "}) {
    const auto refused = read_known_deadlines(known(text, {}));
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().message(), HasSubstr("SLURM_JOB_END_TIME"));
  }
  for (const char* text : {"", "4", "4ep", "0h", "4:00:00", "366d"}) {
    const auto refused = read_known_deadlines(known({}, text));
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().message(), HasSubstr("such as 4h"));
  }
}

TEST(Grace, IsWholeSeconds) {
  EXPECT_EQ(parse_grace_seconds("30").value(), 30s);
  EXPECT_EQ(parse_grace_seconds("0").value(), 0s);
  for (const char* text : {"", "30s", "-1", "86401", "x"}) EXPECT_FALSE(parse_grace_seconds(text)) << text;
}

}  // namespace
}  // namespace ratoon::preemption::notices_test
