#include "operator/runtime/jobs/broken_job.h"

#include <gtest/gtest.h>

namespace ratoon::runtime::broken_job_test {
namespace {

using nlohmann::json;

WallTime at(int second) {
  return {std::chrono::seconds(second)};
}

TEST(UnreadableJob, IsToldInAConditionBesideTheOthers) {
  const json others = json::parse(R"([{"type": "Running", "status": "True", "of": "others"}, 7])");
  const auto told = with_invalid_condition(others, "spec.numNodes is no number", 3, at(100));
  ASSERT_TRUE(told);
  ASSERT_EQ(told->size(), 3U);
  EXPECT_EQ((*told)[0], others[0]);
  EXPECT_EQ((*told)[1], others[1]);
  EXPECT_EQ((*told)[2], json::parse(R"({"type": "InvalidSpec", "status": "True", "reason": "Unreadable",
      "message": "spec.numNodes is no number", "lastTransitionTime": "1970-01-01T00:01:40.000Z",
      "observedGeneration": 3})"));
  EXPECT_EQ(with_invalid_condition(json(), "why", 3, at(100))->size(), 1U) << "it had none";
}

TEST(UnreadableJob, IsWrittenOnceWhileNothingChanges) {
  const json told = *with_invalid_condition(json::array(), "why", 3, at(100));
  EXPECT_FALSE(with_invalid_condition(told, "why", 3, at(200)));
  const auto other = with_invalid_condition(told, "another reason", 4, at(200));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->size(), 1U);
  EXPECT_EQ((*other)[0]["message"], "another reason");
  EXPECT_EQ((*other)[0]["lastTransitionTime"], "1970-01-01T00:01:40.000Z") << "it held all the time";
  json mended = told;
  mended[0]["status"] = "False";
  EXPECT_EQ((*with_invalid_condition(mended, "why", 3, at(200)))[0]["lastTransitionTime"],
            "1970-01-01T00:03:20.000Z");
}

TEST(UnreadableJob, KeepsTheDefinitionsBounds) {
  EXPECT_EQ((*with_invalid_condition(json(), std::string(9000, 'x'), 1, at(1)))[0]["message"]
                .get<std::string>()
                .size(),
            1024U);
  EXPECT_TRUE(with_invalid_condition(json::array_t(15, {{"type", "Other"}}), "why", 1, at(1)));
  EXPECT_FALSE(with_invalid_condition(json::array_t(16, {{"type", "Other"}}), "why", 1, at(1)));
  EXPECT_FALSE(with_invalid_condition("nonsense", "why", 1, at(1)));
}

}  // namespace
}  // namespace ratoon::runtime::broken_job_test
