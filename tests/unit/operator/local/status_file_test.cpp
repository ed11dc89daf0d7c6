#include "operator/local/folder/status_file.h"

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::local::status_file_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

json document(int step, const char* phase = "Running") {
  return {{"job", {{"kind", "TrainingJob"}, {"status", {{"phase", phase}, {"progress", {{"step", step}}}}}}},
          {"members", json::array({{{"name", "a-worker-0-i0"}}})},
          {"progress", {{"position", step}}}};
}

class StatusFileTest : public testing::Test {
 protected:
  std::vector<json> written() { return std::exchange(last_written_, {}); }
  // The disk answers at once, or once it is thawed.
  std::future<Result<void>> write(const json& document) {
    std::promise<Result<void>> outcome;
    auto future = outcome.get_future();
    if (is_frozen_)
      hanging_.emplace(document, std::move(outcome));
    else
      answer(document, outcome);
    return future;
  }
  void answer(const json& document, std::promise<Result<void>>& outcome) {
    if (answer_) last_written_.push_back(document);
    outcome.set_value(answer_);
  }
  void thaw() {
    is_frozen_ = false;
    answer(hanging_->first, hanging_->second);
    hanging_.reset();
  }

  static constexpr StatusFile::Timeouts kTimeouts{.decision_write = milliseconds(1),
                                                  .first_and_last_write = milliseconds(2)};
  Timestamp now_{milliseconds(7)};
  std::vector<json> last_written_;
  Result<void> answer_;
  bool is_frozen_ = false;
  std::optional<std::pair<json, std::promise<Result<void>>>> hanging_;
  std::vector<std::string> said_;
  StatusFile file_{"run/status.json", [this](const json& document) { return write(document); },
                   [this](const std::string& sentence) { said_.push_back(sentence); }, kTimeouts};
};

TEST(HasOnlyGrown, PositionRateAndCheckpointDo) {
  EXPECT_TRUE(differs_only_in_progress(document(1), document(2)));
  json before = document(1);
  json next = document(2);
  next["job"]["status"]["lastCheckpoint"] = {{"step", 2}};
  EXPECT_FALSE(differs_only_in_progress(before, next)) << "its first one";
  EXPECT_FALSE(differs_only_in_progress(next, before));
  before["job"]["status"]["lastCheckpoint"] = {{"step", 1}};
  EXPECT_TRUE(differs_only_in_progress(before, next));
}

TEST(HasOnlyGrown, AllElseIsSomethingThatHappened) {
  json pod = document(2);
  pod["members"][0]["name"] = "a-worker-0-i1";
  json recovery = document(2);
  recovery["recoveries"] = json::array({{{"member", "a-worker-0-i0"}}});
  json spec = document(2);
  spec["job"]["spec"] = {{"numNodes", 2}};
  for (const auto& other :
       {document(2, "Recovering"), pod, recovery, spec, json(), json(3), json::object()}) {
    EXPECT_FALSE(differs_only_in_progress(document(1), other)) << other;
    EXPECT_FALSE(differs_only_in_progress(other, document(1))) << other;
  }
}

TEST_F(StatusFileTest, WhatHappenedIsWrittenBeforeTheCallReturns) {
  ASSERT_TRUE(file_.put(document(1), now_));
  ASSERT_TRUE(file_.put(document(2, "Recovering"), now_));
  EXPECT_THAT(written(), ElementsAre(document(1), document(2, "Recovering")));
  ASSERT_TRUE(file_.put(document(2, "Recovering"), now_));
  EXPECT_THAT(written(), IsEmpty()) << "it stands there already";
}

TEST_F(StatusFileTest, WhatHasOnlyGrownIsWrittenOnceAPause) {
  ASSERT_TRUE(file_.put(document(0), now_));
  for (int step = 1; step <= 10; ++step) {
    now_ = now_ + StatusFile::kWriteIntervalMin / 5;
    ASSERT_TRUE(file_.put(document(step), now_));
  }
  EXPECT_THAT(written(), ElementsAre(document(0), document(5), document(10)));
}

TEST_F(StatusFileTest, TheLastOneIsWrittenWhateverItHas) {
  ASSERT_TRUE(file_.put(document(1), now_));
  ASSERT_TRUE(file_.put_last(document(2)));
  EXPECT_THAT(written(), ElementsAre(document(1), document(2)));
}

TEST_F(StatusFileTest, WhatCouldNotBeWrittenIsTriedAgain) {
  answer_ = Error(ErrorKind::kNoSpace, "full");
  EXPECT_FALSE(file_.put(document(1), now_));
  answer_ = {};
  ASSERT_TRUE(file_.put(document(1), now_));
  EXPECT_THAT(written(), ElementsAre(document(1)));
}

TEST_F(StatusFileTest, ABadDiskIsSaidOnceAndTriedAgain) {
  ASSERT_TRUE(file_.put(document(1), now_));
  // One that became read-only after an error says kPermissionDenied.
  const ErrorKind kinds[] = {ErrorKind::kNoSpace,  ErrorKind::kIo,      ErrorKind::kPermissionDenied,
                             ErrorKind::kNotFound, ErrorKind::kInvalid, ErrorKind::kUnavailable};
  for (const ErrorKind kind : kinds) {
    said_.clear();
    answer_ = Error(kind, "no room");
    for (const char* phase : {"Recovering", "Pending", "Recovering"}) {
      now_ = now_ + std::chrono::minutes(10);
      EXPECT_TRUE(file_.put(document(2, phase), now_)) << "however long";
    }
    EXPECT_THAT(said_, ElementsAre(testing::HasSubstr("the run goes on: no room")));
    answer_ = {};
    last_written_.clear();
    EXPECT_TRUE(file_.put(document(2), now_));
    EXPECT_THAT(written(), ElementsAre(document(2)));
    EXPECT_THAT(said_, testing::Contains("the run's status is stored again"));
    ASSERT_TRUE(file_.put(document(3, "Pending"), now_));
  }
}

TEST_F(StatusFileTest, ABadDiskKeepsARunFromItsBeginningAndFromItsLastWord) {
  answer_ = Error(ErrorKind::kNoSpace, "no room");
  EXPECT_FALSE(file_.put(document(1), now_)) << "nothing was written yet: the run has not begun";
  answer_ = {};
  ASSERT_TRUE(file_.put(document(1), now_));
  answer_ = Error(ErrorKind::kNoSpace, "no room");
  EXPECT_FALSE(file_.put_last(document(3))) << "the last word is an error all the same";
  EXPECT_THAT(said_, ElementsAre(testing::HasSubstr("the run's last status is not stored: no room")));
}

TEST_F(StatusFileTest, ADiskThatHangsStopsNoDecisionAndGetsTheNewestDocument) {
  ASSERT_TRUE(file_.put(document(1), now_));
  is_frozen_ = true;
  ASSERT_TRUE(file_.put(document(2, "Recovering"), now_));
  for (int i = 3; i < 10; ++i) {
    now_ = now_ + StatusFile::kWriteIntervalMin;
    ASSERT_TRUE(file_.put(document(i, "Running"), now_));
  }
  EXPECT_THAT(written(), ElementsAre(document(1)));
  EXPECT_EQ(hanging_->first, document(2, "Recovering")) << "one write at a time";
  thaw();
  ASSERT_TRUE(file_.put(document(10, "Succeeded"), now_));
  EXPECT_THAT(written(), ElementsAre(document(2, "Recovering"), document(10, "Succeeded")));
  EXPECT_THAT(said_, IsEmpty()) << "it hung for less than ten seconds";
}

TEST_F(StatusFileTest, ADiskThatHangsForTenSecondsIsSaidWithTheFile) {
  ASSERT_TRUE(file_.put(document(1), now_));
  is_frozen_ = true;
  const Timestamp began = now_;
  ASSERT_TRUE(file_.put(document(2, "Recovering"), now_));
  now_ = began + StatusFile::kHungWriteTimeout - milliseconds(1);
  ASSERT_TRUE(file_.put(document(3), now_));
  EXPECT_THAT(said_, IsEmpty());
  now_ = began + StatusFile::kHungWriteTimeout;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(file_.put(document(3), now_));
  EXPECT_THAT(said_,
              ElementsAre(testing::HasSubstr("the run goes on: writing run/status.json: the disk has not "
                                             "answered for 10 s")));
  thaw();
  ASSERT_TRUE(file_.put(document(3), now_));
  EXPECT_EQ(said_.back(), "the run's status is stored again");
  EXPECT_EQ(said_.size(), 2u);
}

TEST_F(StatusFileTest, AWriteThatFailsAfterItHungIsTriedAgain) {
  ASSERT_TRUE(file_.put(document(1), now_));
  is_frozen_ = true;
  ASSERT_TRUE(file_.put(document(2, "Recovering"), now_));
  answer_ = Error(ErrorKind::kIo, "a bad sector");
  thaw();
  answer_ = {};
  ASSERT_TRUE(file_.put(document(2, "Recovering"), now_));
  EXPECT_THAT(written(), ElementsAre(document(1), document(2, "Recovering")));
  EXPECT_THAT(said_, ElementsAre(testing::HasSubstr("a bad sector"), "the run's status is stored again"));
}

TEST_F(StatusFileTest, ADiskThatHangsKeepsARunFromItsBeginning) {
  is_frozen_ = true;
  const auto first = file_.put(document(1), now_);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().kind(), ErrorKind::kTimeout);
}

TEST_F(StatusFileTest, TheLastOneIsWaitedForForALimitedTime) {
  ASSERT_TRUE(file_.put(document(1), now_));
  is_frozen_ = true;
  const auto hung = file_.put_last(document(2));
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.error().kind(), ErrorKind::kTimeout);
  EXPECT_FALSE(file_.put_last(document(3))) << "behind a write that hangs";
  EXPECT_EQ(hanging_->first, document(2));
  EXPECT_THAT(said_, testing::Each(
                         testing::HasSubstr("the run's last status is not stored: writing run/status.json")));
  thaw();
  ASSERT_TRUE(file_.put_last(document(3)));
  EXPECT_THAT(written(), ElementsAre(document(1), document(2), document(3)));
}

}  // namespace
}  // namespace ratoon::local::status_file_test
