// A program that catches the session's exceptions, and goes on in its loop: the step does not count, and the
// attempt ends as it must.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/train.h>

#include "tests/support/change_world.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::train_swallowed_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A model whose collective ends on request of the test.
struct Model {
  std::function<void(Session&)> average;
};
void average_gradients_of(Session& session, Model& model, const Averaging&) {
  model.average(session);
}

class TrainSwallowedTest : public testing::Test {
 protected:
  // Makes 30 steps. Catches all exceptions of `average` in step 15, and goes on.
  int train(const std::function<void(Session&)>& average) {
    options_.save_folder = folder_.path().string();
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      ++calls_;
      std::uint64_t sum = 0;
      session.track("sum", sum);
      Model model{.average = average};
      for (const std::uint64_t step : session.steps(30)) {
        try {
          if (step == 15) session.average_gradients(model);
        } catch (...) {
        }
        sum += step;
        last_step_ = step;
      }
      sum_ = sum;
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  std::vector<std::string> manifests() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "run" / "manifests"))
      names.push_back(file.path().filename());
    std::ranges::sort(names);
    return names;
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = "", .run_name = "run", .save_every = Every::steps(8), .member = {}};
  int calls_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t last_step_ = 0;
  std::string said_;
};

TEST_F(TrainSwallowedTest, AnInterruptionStillCallsTheFunctionAgain) {
  EXPECT_EQ(train([&](Session& session) {
              if (calls_ == 1) test::change_world(session, "the world changed");
            }),
            0)
      << said_;
  EXPECT_EQ(calls_, 2);
  EXPECT_EQ(sum_, 30u * 29 / 2);
  EXPECT_THAT(said_, HasSubstr("attempt 1 ends at step 15: the world changed"));
}

TEST_F(TrainSwallowedTest, AFaultStillEndsTheProcessAndItsStepIsNotSaved) {
  EXPECT_EQ(train([](Session&) { throw Failure(81, "a collective failed"); }), 81);
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(last_step_, 15u);
  EXPECT_THAT(said_, HasSubstr("a collective failed"));
  EXPECT_THAT(manifests(), ElementsAre("s0000000008.a0001.json"));
}

}  // namespace
}  // namespace ratoon::train_swallowed_test
