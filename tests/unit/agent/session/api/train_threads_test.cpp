// train() on a machine that starts no further thread.
#include <cerrno>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/train.h>

#include "tests/support/failing_calls/draw.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::train_threads_test {
namespace {

using testing::HasSubstr;

class TrainThreadsTest : public testing::Test {
 protected:
  int train(const std::function<void(Session&)>& function) {
    options_.save_folder = folder_.path().string();
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, function);
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = "", .run_name = "run", .member = {}};
  std::string said_;
};

TEST_F(TrainThreadsTest, AsksToBeStartedAgain) {
  const int code = train([](Session&) {
    const test::failing::Fault fault(test::failing::Call::kThread, EAGAIN);
    std::thread([] {}).join();
  });
  EXPECT_EQ(code, 81);
  EXPECT_THAT(
      said_,
      HasSubstr("the operating system could not start another thread: Resource temporarily unavailable"));
}

TEST_F(TrainThreadsTest, EndsAsADiskDoesWhereNoneCanCallTheDisk) {
  const test::failing::Fault fault(test::failing::Call::kThread, EAGAIN);
  EXPECT_EQ(train([](Session&) {}), 84);
  EXPECT_THAT(said_, HasSubstr("a thread to call the disk cannot be started"));
}

}  // namespace
}  // namespace ratoon::train_threads_test
