#include "operator/local/member_logs.h"

#include <chrono>
#include <future>
#include <memory>

#include <fcntl.h>
#include <gmock/gmock.h>

namespace ratoon::local::member_logs_test {
namespace {

using std::chrono::milliseconds;

UniqueFd some_file() {
  return UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
}

TEST(MemberLogs, OpensALogAndReturnsErrorsOfItsDisk) {
  MemberLogs logs(
      [](const std::string& member) -> Result<UniqueFd> {
        if (member == "bad") return Error(ErrorKind::kNoSpace, "full");
        return some_file();
      },
      std::chrono::hours(1));
  EXPECT_TRUE(logs.open("good")->is_open());
  EXPECT_EQ(logs.open("bad").error().kind(), ErrorKind::kNoSpace);
}

TEST(MemberLogs, AMemberWaitsForItsDiskWithoutTheRun) {
  const auto thaw = std::make_shared<std::promise<void>>();
  const auto thawed = thaw->get_future().share();
  MemberLogs logs(
      [thawed](const std::string& member) -> Result<UniqueFd> {
        if (member == "slow") thawed.wait();
        return some_file();
      },
      milliseconds(1));
  for (int i = 0; i < 3; ++i) {
    const auto log = logs.open("slow");
    ASSERT_FALSE(log);
    EXPECT_TRUE(log.error().is_retryable());
    EXPECT_THAT(log.error().message(), testing::HasSubstr("the log of slow cannot be opened for now"));
  }
  EXPECT_FALSE(logs.open("other")) << "it is behind the call that hangs";
  thaw->set_value();
  for (const char* member : {"slow", "other"}) {
    auto log = logs.open(member);
    while (!log) log = logs.open(member);
    EXPECT_TRUE(log->is_open());
  }
}

// Otherwise each of many members would stop the run for the timeout.
TEST(MemberLogs, OnlyOneMemberWaitsWhileTheDiskHangs) {
  const auto thaw = std::make_shared<std::promise<void>>();
  const auto thawed = thaw->get_future().share();
  MemberLogs logs(
      [thawed](const std::string&) -> Result<UniqueFd> {
        thawed.wait();
        return some_file();
      },
      std::chrono::milliseconds(200));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(logs.open("first"));
  const auto waited = std::chrono::steady_clock::now() - began;
  EXPECT_GE(waited, milliseconds(200));
  // All waits together would take 60 s.
  for (int i = 0; i < 300; ++i) EXPECT_FALSE(logs.open("member-" + std::to_string(i % 10)));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
  thaw->set_value();
}

}  // namespace
}  // namespace ratoon::local::member_logs_test
