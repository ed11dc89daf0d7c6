// A training function with a std::thread that it does not join: the destructor of the thread ends the program
// when an exception leaves the function.
#include <csignal>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include <ratoon/train.h>

#include "tests/support/change_world.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::train_terminate_test {
namespace {

struct Model {
  std::function<void(const Session&)> average;
};
void average_gradients_of(Session& session, Model& model, const Averaging&) {
  model.average(session);
}

// Each test ends its process.
class TrainTerminateTest : public testing::Test {
 protected:
  TrainTerminateTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // Makes steps beside the thread, and calls `act` within the third one.
  void train(const std::function<void(Session&)>& act) {
    static_cast<void>(ratoon::train(options_, [&](Session& session) {
      std::uint64_t sum = 0;
      session.track("sum", sum);
      const std::thread forgotten([] {
        for (;;) static_cast<void>(::pause());
      });
      for (const std::uint64_t step : session.steps(1000)) {
        sum += step;
        if (step == 3) act(session);
      }
    }));
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = folder_.path().string(), .run_name = "run", .member = {}};
};

constexpr const char* kAdvice = "(.*\n)*.*use std::jthread instead of std::thread";

TEST_F(TrainTerminateTest, AfterAChangeOfTheWorldTheProcessIsStartedAgain) {
  const auto act = [](Session& session) {
    Model model{.average = [](const Session& one) { test::change_world(one, "worker-1 was lost"); }};
    session.average_gradients(model);
  };
  EXPECT_EXIT(train(act), testing::ExitedWithCode(81),
              std::string("attempt 1 ends at step 3: worker-1 was lost\n") + kAdvice);
}

TEST_F(TrainTerminateTest, AProcessThatIsToldToLeaveEndsWithTheCodeOfThat) {
  const auto act = [](Session&) { static_cast<void>(raise(SIGINT)); };
  EXPECT_EXIT(train(act), testing::ExitedWithCode(130), std::string("stopped by Ctrl-C.*\n") + kAdvice);
}

TEST_F(TrainTerminateTest, ANoexceptFunctionAroundACallOfTheSessionEndsTheProcessToo) {
  const auto act = [](Session& session) {
    const auto average = [&]() noexcept {
      Model model{.average = [](const Session& one) { test::change_world(one, "worker-1 was lost"); }};
      session.average_gradients(model);
    };
    average();
  };
  EXPECT_EXIT(train(act), testing::ExitedWithCode(81), std::string("worker-1 was lost\n") + kAdvice);
}

TEST_F(TrainTerminateTest, AnErrorOfTheProgramEndsItAsItWould) {
  const auto act = [](Session&) { throw std::runtime_error("a mistake"); };
  EXPECT_EXIT(train(act), testing::KilledBySignal(SIGABRT), "terminate called");
}

}  // namespace
}  // namespace ratoon::train_terminate_test
