#include "cli/report/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/hex.h"

namespace ratoon::cli::tensorboard_test {
namespace {

using testing::ElementsAre;

HistoryRow row(std::uint64_t attempt, std::uint64_t step, double value, bool is_kept = true) {
  return {.at = 1000, .attempt = attempt, .step = step, .value = value, .is_kept = is_kept};
}

// Splits records into their events.
std::vector<std::string> events_in(std::string_view records) {
  constexpr std::size_t kLength = 8;
  constexpr std::size_t kSum = 4;
  std::vector<std::string> events;
  while (!records.empty()) {
    const auto size = static_cast<unsigned char>(records.front());
    const std::string event(records.substr(kLength + kSum, size));
    const std::string record = tensorboard_record(event);
    EXPECT_EQ(records.substr(0, record.size()), record);
    records.remove_prefix(std::min(record.size(), records.size()));
    events.push_back(event);
  }
  return events;
}

// The fixed bytes of an event at 1000 s: the field of its time.
const std::string kTime = std::string("\x09\0\0\0\0\0\x40\x8f\x40", 9);

std::string value_event(char step, const std::string& tag, const std::string& value) {
  const std::string inner = "\x0a" + std::string(1, static_cast<char>(tag.size())) + tag + "\x15" + value;
  const std::string summary = "\x0a" + std::string(1, static_cast<char>(inner.size())) + inner;
  return kTime + "\x10" + step + "\x2a" + std::string(1, static_cast<char>(summary.size())) + summary;
}

const std::string kOne = std::string("\0\0\x80\x3f", 4);   // 1.0F
const std::string kHalf = std::string("\0\0\x00\x3f", 4);  // 0.5F
const std::string kVersion = kTime +
                             "\x1a\x0d"
                             "brain.Event:2";

// The bytes that the writer in the Python package tensorboard makes of the same content.
TEST(TensorboardRecord, IsThatOfTensorBoard) {
  const std::string record = tensorboard_record("abc");
  ASSERT_EQ(record.size(), 8U + 4 + 3 + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\3\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(to_hex(record.substr(8, 4)), "b099490e");
  EXPECT_EQ(to_hex(record.substr(15, 4)), "6e57f121");
}

TEST(TensorboardEvents, KeptValuesComeOnceInTheOrderOfSteps) {
  AttemptHistory history;
  history.values["loss"] = {row(1, 1, 1), row(1, 2, 7, false), row(2, 2, 0.5)};
  history.values["rate"] = {row(1, 1, 0.5)};
  TensorboardEvents events;
  EXPECT_THAT(events_in(events.take(history)),
              ElementsAre(kVersion, value_event(1, "loss", kOne), value_event(1, "rate", kHalf),
                          value_event(2, "loss", kHalf)));
  EXPECT_EQ(events.take(history), "");
}

TEST(TensorboardEvents, AnAttemptThatBeginsLaterTellsTensorBoardToForgetItsSteps) {
  AttemptHistory history;
  history.values["loss"] = {row(1, 1, 1), row(1, 2, 1), row(1, 3, 1)};
  TensorboardEvents events;
  EXPECT_EQ(events_in(events.take(history)).size(), 4U);
  history.values["loss"][2].is_kept = false;
  history.values["loss"].push_back(row(2, 3, 0.5));
  history.values["loss"].push_back(row(2, 4, 0.5));
  EXPECT_THAT(events_in(events.take(history)),
              ElementsAre(kTime + "\x10\x03\x3a\x02\x08\x01", value_event(3, "loss", kHalf),
                          value_event(4, "loss", kHalf)));
}

// A process of an older attempt may write while a newer attempt already runs.
TEST(TensorboardEvents, RowsOfAnOlderAttemptThatComeLaterAreTakenOnce) {
  AttemptHistory history;
  history.values["loss"] = {row(1, 1, 1), row(2, 2, 1)};
  TensorboardEvents events;
  EXPECT_EQ(events_in(events.take(history)).size(), 3U);
  history.values["loss"] = {row(1, 1, 1), row(1, 2, 1, false), row(2, 2, 1), row(2, 3, 0.5)};
  EXPECT_THAT(events_in(events.take(history)), ElementsAre(value_event(3, "loss", kHalf)));
}

TEST(TensorboardEvents, ARunWithoutValuesHasNoRecords) {
  AttemptHistory history;
  TensorboardEvents events;
  EXPECT_EQ(events.take(history), "");
  history.values["loss"] = {row(1, 1, 1)};
  EXPECT_EQ(events_in(events.take(history)).size(), 2U);
}

}  // namespace
}  // namespace ratoon::cli::tensorboard_test
