#include "cli/report/facts/attempt_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/report/facts/run_event.h"

namespace ratoon::cli::attempt_history_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string step(int number) {
  return R"({"kind":"step","step":)" + std::to_string(number) + R"(,"time":"2026-11-22T08:00:0)" +
         std::to_string(number) + R"(.000Z","values":{"loss":0.5}})" + "\n";
}

std::vector<std::pair<std::uint64_t, bool>> kept(const AttemptHistory& history) {
  std::vector<std::pair<std::uint64_t, bool>> rows;
  for (const HistoryRow& row : history.steps) rows.emplace_back(row.step, row.is_kept);
  return rows;
}

TEST(AttemptHistoryTest, WhatALaterAttemptDidNotGoOnFromIsNotKept) {
  const std::string first = "{\"attempt\":1,\"history\":1}\n" + step(1) + step(2);
  const std::string second = R"({"after":{"attempt":1,"bytes":)" + std::to_string(first.size()) +
                             "},\"attempt\":2,\"history\":1}\n" + step(4);
  const AttemptHistory history = read_attempt_history({{1, first + step(3)}, {2, second}});
  EXPECT_THAT(kept(history), ElementsAre(std::pair(1u, true), std::pair(2u, true), std::pair(3u, false),
                                         std::pair(4u, true)));
  EXPECT_EQ(history.values.at("loss").size(), 4u);
  EXPECT_THAT(history.complaints, IsEmpty());
}

// The system clock went back between the rows.
TEST(AttemptHistoryTest, RowsComeInTheOrderInWhichTheyWereWritten) {
  const std::string ledger = R"({"kind":"ledger","step":1,"time":"2026-11-22T0)";
  const std::string first = "{\"attempt\":1,\"history\":1}\n" + step(5) + step(6) + ledger +
                            "9:00:00Z\",\"values\":{\"useful\":1}}\n";
  const std::string second = R"({"after":{"attempt":1,"bytes":)" + std::to_string(first.size()) +
                             "},\"attempt\":2,\"history\":1}\n" + step(1) + ledger +
                             "8:00:00Z\",\"values\":{\"useful\":9}}\n";
  const AttemptHistory history = read_attempt_history({{2, second}, {1, first}});
  EXPECT_THAT(kept(history), ElementsAre(std::pair(5u, true), std::pair(6u, true), std::pair(1u, true)));
  EXPECT_THAT(history.ledger, ElementsAre(testing::Pair("useful", 9.0)));
}

TEST(AttemptHistoryTest, AnAttemptCountsThoughItReportedNothing) {
  const AttemptHistory history = read_attempt_history({{1, "{\"attempt\":1,\"history\":1}\n"}, {3, ""}});
  EXPECT_THAT(history.attempts, ElementsAre(1u, 3u));
  EXPECT_THAT(history.steps, IsEmpty());
}

TEST(AttemptHistoryTest, HalfALineAtTheEndIsWhatAKillLeaves) {
  const AttemptHistory history =
      read_attempt_history({{1, "{\"attempt\":1,\"history\":1}\n" + step(1) + "{\"kind\":\"st"}});
  EXPECT_THAT(kept(history), ElementsAre(std::pair(1u, true)));
  EXPECT_THAT(history.complaints, IsEmpty());
}

TEST(AttemptHistoryTest, WhatCannotBeReadIsSaid) {
  const AttemptHistory history = read_attempt_history(
      {{1, "{\"attempt\":1,\"history\":1}\n" + step(1) + "nonsense\n" + step(2)}, {2, "\n"}});
  EXPECT_EQ(history.steps.size(), 1u);
  EXPECT_THAT(history.complaints,
              ElementsAre(HasSubstr("attempt 1 has a line"), HasSubstr("attempt 2 has no first")));
}

TEST(AttemptHistoryTest, SavesAndTheNewestLedger) {
  const std::string text =
      "{\"attempt\":1,\"history\":1}\n"
      R"({"kind":"save","step":1,"time":"2026-11-22T08:00:00Z","values":{"stall_seconds":0.25,"bytes":7}})"
      "\n"
      R"({"kind":"ledger","step":1,"time":"2026-11-22T08:00:00Z","values":{"useful":1}})"
      "\n"
      R"({"kind":"ledger","step":2,"time":"2026-11-22T08:00:09Z","values":{"useful":9}})"
      "\n";
  const AttemptHistory history = read_attempt_history({{1, text}});
  EXPECT_EQ(history.ledger_rows.size(), 2u);
  ASSERT_EQ(history.saves.size(), 1u);
  EXPECT_EQ(history.saves[0].value, 0.25);
  EXPECT_THAT(history.ledger, ElementsAre(testing::Pair("useful", 9.0)));
}

TEST(EventTest, LinesThatCannotBeReadArePassedOver) {
  const auto events = decode_events(
      "{\"events\":1,\"job\":\"a\",\"kind\":\"run\",\"time\":\"2026-11-22T08:00:00.000Z\"}\n\n[]\n{\"kind\":"
      "7}\n"
      "{\"kind\":\"step\",\"time\":\"never\"}\n"
      "{\"attempt\":2,\"kind\":\"step\",\"step\":9,\"time\":\"2026-11-22T08:00:01.000Z\"}\n{\"kind\":\"st");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].attempt, 2u);
  EXPECT_EQ(events[1].step, 9u);
}

}  // namespace
}  // namespace ratoon::cli::attempt_history_test
