#include "operator/local/folder/status_file.h"

#include <chrono>
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
  std::vector<json> written() { return std::exchange(written_, {}); }

  Timestamp now_{milliseconds(7)};
  std::vector<json> written_;
  Result<void> answer_;
  StatusFile file_{[this](const json& document) {
    if (answer_) written_.push_back(document);
    return answer_;
  }};
};

TEST(HasOnlyGrown, PositionRateAndCheckpointDo) {
  EXPECT_TRUE(has_only_grown(document(1), document(2)));
  json before = document(1);
  json next = document(2);
  next["job"]["status"]["lastCheckpoint"] = {{"step", 2}};
  EXPECT_FALSE(has_only_grown(before, next)) << "its first one";
  EXPECT_FALSE(has_only_grown(next, before));
  before["job"]["status"]["lastCheckpoint"] = {{"step", 1}};
  EXPECT_TRUE(has_only_grown(before, next));
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
    EXPECT_FALSE(has_only_grown(document(1), other)) << other;
    EXPECT_FALSE(has_only_grown(other, document(1))) << other;
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
    now_ = now_ + StatusFile::kPause / 5;
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

class StatusFileOnABadDisk : public StatusFileTest {
 protected:
  std::vector<std::string> said_;
  StatusFile patient_{[this](const json& document) {
                        if (answer_) written_.push_back(document);
                        return answer_;
                      },
                      [this](const std::string& sentence) { said_.push_back(sentence); }};
};

TEST_F(StatusFileOnABadDisk, IsSaidOnceAndTriedAgain) {
  ASSERT_TRUE(patient_.put(document(1), now_));
  // One that became read-only after an error says kPermissionDenied.
  const ErrorKind kinds[] = {ErrorKind::kNoSpace,  ErrorKind::kIo,      ErrorKind::kPermissionDenied,
                             ErrorKind::kNotFound, ErrorKind::kInvalid, ErrorKind::kUnavailable};
  for (const ErrorKind kind : kinds) {
    said_.clear();
    answer_ = Error(kind, "no room");
    for (const char* phase : {"Recovering", "Pending", "Recovering"}) {
      now_ = now_ + std::chrono::minutes(10);
      EXPECT_TRUE(patient_.put(document(2, phase), now_)) << "however long";
    }
    EXPECT_THAT(said_, ElementsAre(testing::HasSubstr("the run goes on: no room")));
    answer_ = {};
    written_.clear();
    EXPECT_TRUE(patient_.put(document(2), now_));
    EXPECT_THAT(written(), ElementsAre(document(2)));
    EXPECT_THAT(said_, testing::Contains("the run's status is stored again"));
    ASSERT_TRUE(patient_.put(document(3, "Pending"), now_));
  }
}

TEST_F(StatusFileOnABadDisk, KeepsARunFromItsBeginningAndFromItsLastWord) {
  answer_ = Error(ErrorKind::kNoSpace, "no room");
  EXPECT_FALSE(patient_.put(document(1), now_)) << "nothing was written yet: the run has not begun";
  answer_ = {};
  ASSERT_TRUE(patient_.put(document(1), now_));
  answer_ = Error(ErrorKind::kNoSpace, "no room");
  EXPECT_FALSE(patient_.put_last(document(3))) << "the last word is an error all the same";
}

}  // namespace
}  // namespace ratoon::local::status_file_test
