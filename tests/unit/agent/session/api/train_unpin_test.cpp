// Pins that the program removes, with losses between the request and its effect.
#include <chrono>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/train.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::train_unpin_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kSoon = 60s;
constexpr const char* kPinOf5 = "s0000000005.a0001.json";

// A run of 40 steps, of which each tenth is saved. Step 5 is pinned, and its pin is to go in step 12.
class TrainUnpinTest : public testing::Test {
 protected:
  TrainUnpinTest() {
    options_.save_folder = (folder_ / "home").string();
    options_.stores = {"file://" + (folder_ / "store").string()};
  }
  using Act = std::function<void(Session&, std::uint64_t)>;
  // Calls `act` in each step before it ends.
  int train(const Act& act) {
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      std::uint64_t sum = 0;
      session.track("sum", sum);
      SaveTicket ticket;
      for (const std::uint64_t step : session.steps(40)) {
        sum += step;
        // Each checkpoint is in the store before the next one comes.
        if (step == 5 && session.resumes_at() == 0) {
          EXPECT_TRUE(ticket.wait(SaveLevel::kStored, kSoon));
        }
        if (step + 1 == 5) ticket = session.save("a milestone");
        if (step + 1 == 12) session.unpin(5);
        act(session, step + 1);
      }
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  int train() {
    return train([](Session&, std::uint64_t) {});
  }
  std::vector<std::string> pins(const char* place) const {
    std::vector<std::string> names;
    const auto pins = folder_ / place / "run/pins";
    if (!std::filesystem::exists(pins)) return names;
    for (const auto& file : std::filesystem::directory_iterator(pins))
      names.push_back(file.path().filename());
    return names;
  }
  void pin_by_hand() const { test::write_text(folder_ / "home/run/pins" / kPinOf5, "by hand\n"); }
  bool has_checkpoint_5() const { return std::filesystem::exists(folder_ / "home/run/manifests" / kPinOf5); }

  test::TemporaryFolder folder_;
  Options options_{
      .save_folder = "", .run_name = "run", .save_every = Every::steps(10), .keep_last = 2, .member = {}};
  std::string said_;
};

TEST_F(TrainUnpinTest, ThePinGoesWithTheNextCheckpointInTheFolderAndInTheStore) {
  ASSERT_EQ(train([&](Session&, std::uint64_t step) {
              if (step == 20) {
                EXPECT_THAT(pins("home"), ElementsAre(kPinOf5)) << "step 20 is not committed yet";
              }
            }),
            0)
      << said_;
  EXPECT_THAT(pins("home"), IsEmpty());
  EXPECT_THAT(pins("store"), IsEmpty());
  EXPECT_FALSE(has_checkpoint_5()) << "retention removes it like any other";
}

TEST_F(TrainUnpinTest, ALossBetweenTheRequestAndItsEffectChangesNothing) {
  for (const std::uint64_t fails_in : {13u, 19u, 20u, 21u, 25u}) {
    options_.run_name = "run";
    std::filesystem::remove_all(folder_ / "home");
    std::filesystem::remove_all(folder_ / "store");
    ASSERT_EQ(train([&](Session&, std::uint64_t step) {
                if (step != fails_in) return;
                // The store may have the checkpoint of step 20 without its effect for a moment.
                const auto end = std::chrono::steady_clock::now() + kSoon;
                while (fails_in > 20 && !pins("store").empty() && std::chrono::steady_clock::now() < end)
                  std::this_thread::yield();
                throw std::runtime_error("the test's own");
              }),
              1);
    if (fails_in <= 20) {
      EXPECT_THAT(pins("home"), ElementsAre(kPinOf5)) << "its request is lost with its step";
    }
    ASSERT_EQ(train(), 0) << said_;
    EXPECT_THAT(pins("home"), IsEmpty()) << "lost in step " << fails_in;
    EXPECT_THAT(pins("store"), IsEmpty()) << "lost in step " << fails_in;
  }
}

TEST_F(TrainUnpinTest, APinThatAPersonMakesLaterStays) {
  for (const std::uint64_t fails_in : {25u, 35u}) {
    std::filesystem::remove_all(folder_ / "home");
    std::filesystem::remove_all(folder_ / "store");
    ASSERT_EQ(train([&](Session&, std::uint64_t step) {
                if (step == fails_in) throw std::runtime_error("the test's own");
              }),
              1);
    pin_by_hand();
    ASSERT_EQ(train(), 0) << said_;
    EXPECT_THAT(pins("home"), ElementsAre(kPinOf5)) << "lost in step " << fails_in;
  }
}

TEST_F(TrainUnpinTest, AfterTheLastSaveItTakesEffectAtOnce) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(ratoon::train(options_,
                          [&](Session& session) {
                            std::uint64_t sum = 0;
                            session.track("sum", sum);
                            for (const std::uint64_t step : session.steps(10))
                              if (step == 4) static_cast<void>(session.save("a milestone"));
                            session.unpin(5);
                          }),
            0);
  said_ = testing::internal::GetCapturedStderr();
  EXPECT_THAT(pins("home"), IsEmpty()) << said_;
  EXPECT_THAT(pins("store"), IsEmpty()) << said_;
}

TEST_F(TrainUnpinTest, ACheckpointWithoutAPinStaysAsItIs) {
  EXPECT_EQ(train([&](Session& session, std::uint64_t step) {
              if (step == 30) session.unpin(20);
            }),
            0)
      << said_;
}

TEST_F(TrainUnpinTest, AStepThatIsStillToComeIsRefused) {
  EXPECT_EQ(train([&](Session& session, std::uint64_t step) {
              if (step == 3) session.unpin(3);
            }),
            82);
  EXPECT_THAT(said_, HasSubstr("unpin(3) was called at step 2 of 40: unpin() takes the step of an earlier "
                               "checkpoint, as `ratoon checkpoint list` shows it"));
}

TEST_F(TrainUnpinTest, BeforeTheLoopItIsRefused) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(ratoon::train(options_, [](Session& session) { session.unpin(1); }), 82);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("unpin(1) must be called in the loop over steps()"));
}

}  // namespace
}  // namespace ratoon::train_unpin_test
