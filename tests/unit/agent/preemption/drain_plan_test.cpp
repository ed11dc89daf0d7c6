#include "agent/src/preemption/drain_plan.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::preemption::drain_plan_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

// A save needs 1 s of step, 1.5 of copy, 15 of writing and 0.5 of commit: 18 s. A flush needs 8. At the
// measured speed they take 12.5 and 5.5.
DrainFacts facts(Duration left) {
  return {.left = left,
          .margin = 2s,
          .state_bytes = 1'000'000'000,
          .staged_bytes = 0,
          .copy_bytes_per_second = 1e9,
          .disk_bytes_per_second = 1e8,
          .step = 1s,
          .commit = 500ms};
}
DrainFacts with_staged(Duration left) {
  DrainFacts all = facts(left);
  all.staged_bytes = 500'000'000;
  return all;
}
DrainStage save(Duration begin) {
  return {.act = DrainAction::kFullSave, .begin = begin, .end = begin + 18s};
}
DrainStage attempt(Duration begin) {
  return {.act = DrainAction::kTrySave, .begin = begin, .end = begin + 12500ms};
}
DrainStage flush() {
  return {.act = DrainAction::kFlushStaged, .begin = 0s, .end = 8s};
}

TEST(DrainPlan, SavesAtOnceAndAgainAtTheLast) {
  const auto plan = plan_drain(facts(120s));
  EXPECT_THAT(plan.stages, ElementsAre(save(0s), save(100s)));
  EXPECT_EQ(plan.leave, 118s);
}

TEST(DrainPlan, SavesOnceWhereTwoDoNotFit) {
  EXPECT_THAT(plan_drain(facts(20s)).stages, ElementsAre(save(0s)));
  EXPECT_THAT(plan_drain(facts(38s)).stages, ElementsAre(save(0s)));  // a second would hold no step more
  EXPECT_THAT(plan_drain(facts(39s)).stages, ElementsAre(save(0s), save(19s)));
}

TEST(DrainPlan, NeverBeginsWhatCannotEnd) {
  EXPECT_THAT(plan_drain(facts(13500ms - 1ns)).stages, ElementsAre());
  EXPECT_EQ(plan_drain(facts(13s)).leave, 11s);  // the news may be taken back
  for (const Duration left : {2s, 1s, 0s, -5s}) {
    EXPECT_THAT(plan_drain(facts(left)).stages, ElementsAre());
    EXPECT_EQ(plan_drain(facts(left)).leave, 0s);
  }
}

TEST(DrainPlan, TriesWhatEndsOnlyAsFastAsItWasMeasured) {
  EXPECT_THAT(plan_drain(facts(20s - 1ns)).stages, ElementsAre(attempt(0s)));
  EXPECT_THAT(plan_drain(facts(13500ms)).stages, ElementsAre(attempt(0s)));  // a second is left then
  DrainFacts again = facts(15s);
  again.has_saved = true;
  EXPECT_THAT(plan_drain(again).stages, ElementsAre(attempt(0s)));
  again.margin = 6s;
  EXPECT_THAT(plan_drain(again).stages, ElementsAre());
}

TEST(DrainPlan, WritesWhatIsStagedFirstOrAloneOrNot) {
  EXPECT_THAT(plan_drain(with_staged(28s)).stages,
              ElementsAre(flush(), DrainStage{.act = DrainAction::kFullSave, .begin = 8s, .end = 26s}));
  EXPECT_THAT(plan_drain(with_staged(27s)).stages, ElementsAre(save(0s)));  // newer than what is staged
  EXPECT_THAT(plan_drain(with_staged(19s)).stages, ElementsAre(flush(), attempt(5500ms)));
  EXPECT_THAT(plan_drain(with_staged(19s - 1ns)).stages, ElementsAre(flush()));
  EXPECT_THAT(plan_drain(with_staged(10s)).stages, ElementsAre(flush()));
  EXPECT_THAT(plan_drain(with_staged(9s)).stages, ElementsAre());
}

TEST(DrainPlan, WhatWasKnownFromTheStartWaitsToTheLast) {
  DrainFacts limit = facts(3600s);
  limit.has_saved = true;
  EXPECT_THAT(plan_drain(limit).stages, ElementsAre(save(3580s)));
  limit.left = 20s;
  EXPECT_THAT(plan_drain(limit).stages, ElementsAre(save(0s)));
  limit.left = 13s;
  EXPECT_THAT(plan_drain(limit).stages, ElementsAre());
}

TEST(DrainPlan, WithoutMeasurementsAssumesSlowDevices) {
  for (const double unknown :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    DrainFacts blind = facts(60s);
    blind.copy_bytes_per_second = blind.disk_bytes_per_second = unknown;
    blind.has_saved = true;
    const auto plan = plan_drain(blind);  // 1 + 1.5 + 30 + 0.5
    EXPECT_THAT(plan.stages, ElementsAre(DrainStage{.begin = 25s, .end = 58s}));
  }
}

TEST(DrainPlan, NothingOverflows) {
  DrainFacts odd = facts(Duration::max());
  odd.state_bytes = odd.staged_bytes = std::numeric_limits<std::uint64_t>::max();
  odd.disk_bytes_per_second = 1e-9;
  odd.step = odd.commit = Duration::max();
  odd.margin = Duration::min();
  const auto plan = plan_drain(odd);
  EXPECT_EQ(plan.leave, Duration::max());
  EXPECT_FALSE(plan.stages.empty());
}

// ---- the table that people read

std::string words(const DrainPlan& plan) {
  std::string text;
  for (const DrainStage& stage : plan.stages) {
    if (!text.empty()) text += ", ";
    std::array<char, 64> at{};
    if (stage.begin > 0s) std::snprintf(at.data(), at.size(), " at %.0f s", seconds(stage.begin));
    text +=
        std::array{"flush", "save", "try"}.at(static_cast<std::size_t>(stage.act)) + std::string(at.data());
  }
  return text.empty() ? "nothing" : text;
}

std::string table() {
  constexpr std::array<std::uint64_t, 5> kMegabytes = {100, 1'000, 5'000, 10'000, 50'000};
  constexpr std::array<int, 6> kSeconds = {5, 15, 25, 30, 60, 120};
  std::string text = "| state, staged before |";
  for (const int left : kSeconds) text += " " + std::to_string(left) + " s |";
  text += "\n|---|";
  for (std::size_t i = 0; i < kSeconds.size(); ++i) text += "---|";
  text += "\n";
  for (const std::uint64_t megabytes : kMegabytes) {
    for (const bool is_staged : {false, true}) {
      std::array<char, 64> name{};
      std::snprintf(name.data(), name.size(), "| %.1f GB, %s |", static_cast<double>(megabytes) / 1e3,
                    is_staged ? "half of it" : "none");
      text += name.data();
      for (const int left : kSeconds) {
        const std::uint64_t bytes = megabytes * 1'000'000;
        text += " " +
                words(plan_drain({.left = std::chrono::seconds(left),
                                  .state_bytes = bytes,
                                  .staged_bytes = is_staged ? bytes / 2 : 0,
                                  .copy_bytes_per_second = 5e9,
                                  .disk_bytes_per_second = 5e8,
                                  .step = 500ms,
                                  .commit = 200ms})) +
                " |";
      }
      text += "\n";
    }
  }
  return text;
}

TEST(DrainPlan, IsAsTheTableInTheDocsSays) {
  std::ifstream in("docs/train/notice.md");
  const std::string document{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_THAT(document, testing::HasSubstr(table())) << "docs/train/notice.md should hold:\n" << table();
}

}  // namespace
}  // namespace ratoon::preemption::drain_plan_test
