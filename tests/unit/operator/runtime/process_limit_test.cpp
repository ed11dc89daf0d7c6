#include "operator/runtime/jobs/process_limit.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::runtime::process_limit_test {
namespace {

using testing::HasSubstr;

class ProcessLimitTest : public testing::Test {
 protected:
  static JobKey job(const std::string& name) { return {.name_space = "team-a", .name = name}; }
  Result<ProcessLimit::Admission> admit(const std::string& name, std::uint64_t processes) {
    return limit_.admit(job(name), processes, [this] { return in_use_; });
  }

  ProcessLimit limit_{10};
  ProcessesInUse in_use_;
};

TEST_F(ProcessLimitTest, AJobFitsUpToTheLimitAndNotBeyond) {
  in_use_ = {{job("other"), 6}};
  EXPECT_TRUE(admit("new", 4));
  const auto refused = admit("new", 5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kNoSpace);
  EXPECT_THAT(refused.error().message(), HasSubstr("this job has 5 processes, the other jobs with pods in "
                                                   "namespace team-a have 6, and the operator allows 10"));
}

TEST_F(ProcessLimitTest, AJobsOwnPodsCountOnce) {
  in_use_ = {{job("running"), 10}};
  EXPECT_TRUE(admit("running", 10)) << "a lost member is replaced";
  EXPECT_FALSE(admit("running", 11)) << "the job was made larger";
}

// The pods of a job that is being admitted are not in the cache yet.
TEST_F(ProcessLimitTest, TwoJobsAtOnceDoNotBothGetTheSameProcesses) {
  std::optional<Result<ProcessLimit::Admission>> first(admit("first", 6));
  ASSERT_TRUE(*first);
  EXPECT_FALSE(admit("second", 6));
  first.reset();
  EXPECT_TRUE(admit("second", 6)) << "the first got no pods";
}

TEST_F(ProcessLimitTest, NamespacesDoNotShareTheLimit) {
  const auto first = admit("first", 10);
  EXPECT_TRUE(first);
  EXPECT_TRUE(limit_.admit({.name_space = "team-b", .name = "first"}, 10, [] { return ProcessesInUse(); }));
}

TEST_F(ProcessLimitTest, WithoutALimitNothingIsCounted) {
  ProcessLimit none(0);
  EXPECT_TRUE(none.admit(job("any"), 1'000'000, []() -> ProcessesInUse {
    ADD_FAILURE() << "the cache was read";
    return {};
  }));
}

}  // namespace
}  // namespace ratoon::runtime::process_limit_test
