// Saves that the program requests: the ticket of each, the kept checkpoints, and copies in a store.
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/train.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::train_saves_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto kSoon = 60s;

class TrainSavesTest : public testing::Test {
 protected:
  TrainSavesTest() {
    options_.save_folder = (folder_ / "home").string();
    options_.stores = {"file://" + (folder_ / "store").string()};
  }
  // 40 steps, of which each tenth is saved; `act` is called in each before it ends.
  int train(const std::function<void(Session&, std::uint64_t)>& act) {
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      std::uint64_t sum = 0;
      session.track("sum", sum);
      for (const std::uint64_t step : session.steps(40)) {
        sum += step;
        act(session, step + 1);
      }
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  std::vector<std::string> files_of(const std::filesystem::path& place) {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(place))
      names.push_back(file.path().filename());
    std::ranges::sort(names);
    return names;
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = "", .run_name = "run", .save_every = Every::steps(10), .member = {}};
  std::string said_;
};

TEST_F(TrainSavesTest, ATicketCanBeAwaitedUpToTheStores) {
  SaveTicket ticket;
  EXPECT_EQ(ticket.wait(SaveLevel::kStaged, kSoon).error().kind(), ErrorKind::kInvalid) << "of no save";
  ASSERT_EQ(train([&](Session& session, std::uint64_t step) {
              if (step == 5) {
                ticket = session.save();
                EXPECT_EQ(ticket.wait(SaveLevel::kStaged, 0s).error().kind(), ErrorKind::kTimeout)
                    << "the step has not ended";
              }
              if (step != 6) return;
              for (const auto level :
                   {SaveLevel::kStaged, SaveLevel::kWritten, SaveLevel::kCommitted, SaveLevel::kStored})
                EXPECT_TRUE(ticket.wait(level, kSoon));
              EXPECT_THAT(files_of(folder_ / "home/run/manifests"),
                          testing::ElementsAre("s0000000005.a0001.json"));
              EXPECT_THAT(files_of(folder_ / "store/run/manifests"),
                          testing::ElementsAre("s0000000005.a0001.json"));
            }),
            0)
      << said_;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "home/run/pins")) << "no reason was given to keep it";
}

TEST_F(TrainSavesTest, WhatTheProgramWantsKeptOutlivesAllThatRetentionKeeps) {
  options_.keep_last = 2;
  options_.keep_last_in_stores = 2;
  SaveTicket ticket;
  ASSERT_EQ(train([&](Session& session, std::uint64_t step) {
              // Each checkpoint is in the store before the next one comes: none is skipped.
              if (step % 5 == 1 && step > 1) {
                EXPECT_TRUE(ticket.wait(SaveLevel::kStored, kSoon));
              }
              if (step % 5 == 0) ticket = session.save(step == 5 ? "the lowest loss" : "");
            }),
            0)
      << said_;
  for (const char* place : {"home/run", "store/run"}) {
    EXPECT_THAT(
        files_of(folder_ / place / "manifests"),
        testing::ElementsAre("s0000000005.a0001.json", "s0000000035.a0001.json", "s0000000040.a0001.json"));
    EXPECT_EQ(test::read_text(folder_ / place / "pins/s0000000005.a0001.json"), "the lowest loss\n");
  }
}

// In a step that is saved in any case there is one save.
TEST_F(TrainSavesTest, AskedTwiceInAStepItIsOneSave) {
  std::vector<SaveTicket> tickets;
  ASSERT_EQ(train([&](Session& session, std::uint64_t step) {
              if (step != 10) return;
              tickets.push_back(session.save());
              tickets.push_back(session.save("the lowest loss"));
              tickets.push_back(session.save("another reason"));
            }),
            0)
      << said_;
  for (const SaveTicket& ticket : tickets) EXPECT_TRUE(ticket.wait(SaveLevel::kStored, 0s));
  EXPECT_EQ(test::read_text(folder_ / "home/run/pins/s0000000010.a0001.json"), "the lowest loss\n");
}

TEST_F(TrainSavesTest, TheBestArePinnedInTheFolderAndInTheStoreAndTheBeatenAreNot) {
  const auto distance = [](std::uint64_t step) { return step < 23 ? 23 - step : step - 23; };
  ASSERT_EQ(train([&](Session& session, std::uint64_t step) {
              session.save_best("distance", static_cast<double>(distance(step)), {.keep = 2});
            }),
            0)
      << said_;
  const std::vector<std::string> best{"s0000000022.a0001.json", "s0000000023.a0001.json"};
  EXPECT_EQ(files_of(folder_ / "home" / "run" / "pins"), best);
  EXPECT_EQ(files_of(folder_ / "store" / "run" / "pins"), best);
  EXPECT_THAT(said_, HasSubstr("best: distance 0 at step 23"));
}

TEST_F(TrainSavesTest, MemoryOfTheProgramIsRestoredInItsPlace) {
  const auto train_to = [&](std::uint64_t steps, const TensorShape& shape) {
    std::vector<float> memory(6);
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      const std::span<float> all(memory);
      session.track("memory", all, {.shape = shape, .is_weight = true});
      for (const std::uint64_t step : session.steps(steps))
        for (float& one : memory) one = one * 0.5F + static_cast<float>(step);
    });
    said_ = testing::internal::GetCapturedStderr();
    return std::pair(code, memory);
  };
  const auto whole = train_to(12, {2, 3});
  EXPECT_EQ(whole.first, 0) << said_;
  options_.run_name = "in two parts";
  EXPECT_EQ(train_to(5, {2, 3}).first, 0) << said_;
  EXPECT_EQ(train_to(12, {2, 3}), whole) << said_;
  EXPECT_EQ(train_to(14, {4}).first, 82);
  EXPECT_THAT(said_, HasSubstr("tracked 'memory': its shape has 4 numbers, and its memory 6"));
  EXPECT_EQ(train_to(14, {3, 2}).first, 82) << "the checkpoint has {2, 3}";
}

TEST_F(TrainSavesTest, WhatIsAskedForBeforeTheLoopIsRefused) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(ratoon::train(options_, [](Session& session) { static_cast<void>(session.save()); }), 82);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("save() must be called in the loop over steps()"));
}

TEST_F(TrainSavesTest, AnAttemptThatEndsBeforeTheStepSaysSo) {
  SaveTicket ticket;
  EXPECT_NE(train([&](Session& session, std::uint64_t step) {
              if (step != 5) return;
              ticket = session.save();
              throw std::runtime_error("the trainer's own fault");
            }),
            0);
  const auto reached = ticket.wait(SaveLevel::kStaged, kSoon);
  ASSERT_FALSE(reached);
  EXPECT_EQ(reached.error().kind(), ErrorKind::kCancelled);
  EXPECT_THAT(reached.error().message(), HasSubstr("the attempt ended before the step did"));
}

}  // namespace
}  // namespace ratoon::train_saves_test
