// --seed: the generators that it seeds, the moments, and the places that name it. Files only.
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/numerics.h>
#include <ratoon/random_engine.h>
#include <ratoon/train.h>

#include "agent/src/checkpoint/format/manifest.h"
#include "tests/support/change_world.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::train_seed_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// The hook of a library that draws numbers; it outlives the case that attached it.
std::vector<std::uint64_t> seeded;

class TrainSeedTest : public testing::Test {
 protected:
  TrainSeedTest() {
    seeded.clear();
    attach_numerics({.pin = [] {},
                     .set_threads = [](std::uint32_t) {},
                     .seed = [](std::uint64_t seed) { seeded.push_back(seed); },
                     .now = [] { return Numerics{}; }});
    options_.save_folder = folder_.path().string();
  }
  // The numbers drawn in each step; throws Interrupted in step `lost`, once.
  int draw(std::uint64_t steps, std::uint64_t lost = ~std::uint64_t{0}) {
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      EXPECT_EQ(session.seed(), options_.seed.value_or(0));
      seeded_before_ = seeded;
      std::mt19937_64 noise;
      std::minstd_rand other;
      session.track("noise", noise);
      session.track("other", other);
      for (const std::uint64_t step : session.steps(steps)) {
        drawn_.resize(step);
        drawn_.push_back(noise() ^ other());
        if (step == std::exchange(lost, lost == step ? ~std::uint64_t{0} : lost))
          test::change_world(session, "a loss");
      }
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  std::optional<checkpoint::RunRecord> newest() {
    std::filesystem::path last;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "run" / "manifests"))
      last = std::max(last, file.path());
    return checkpoint::decode_manifest(test::read_text(last)).value().run;
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = "", .run_name = "run", .save_every = Every::steps(3), .member = {}};
  std::vector<std::uint64_t> seeded_before_;
  std::vector<std::uint64_t> drawn_;
  std::string said_;
};

TEST_F(TrainSeedTest, IsThereBeforeTheFunctionIsCalledInEachAttempt) {
  options_.seed = 17;
  EXPECT_EQ(draw(6, 4), 0);
  EXPECT_THAT(seeded_before_, ElementsAre(17, 17)) << "the attempt that was lost, and the one after it";
  const std::string line = "ratoon: seed 17 (--seed)\n";
  EXPECT_THAT(said_, HasSubstr(line));
  EXPECT_EQ(said_.find(line), said_.rfind(line)) << "once";
  EXPECT_THAT(
      said_,
      HasSubstr(line +
                "ratoon: saves every 3 steps (--save-every) and keeps the newest 3 (--keep-last) in "));
  EXPECT_EQ(newest()->seed, 17u);
}

TEST_F(TrainSeedTest, TrackedEnginesBeginWithItAndGoOnAsIfUnbroken) {
  EXPECT_EQ(draw(8), 0);
  const auto unbroken = drawn_;
  std::mt19937_64 by_default;
  EXPECT_NE(unbroken.front(), by_default() ^ std::minstd_rand()());

  options_.run_name = "killed";
  EXPECT_EQ(draw(8, 5), 0);
  EXPECT_EQ(drawn_, unbroken) << "in one process";

  options_.run_name = "stopped";
  EXPECT_EQ(draw(4), 0);
  EXPECT_EQ(draw(8), 0);
  EXPECT_EQ(drawn_.size(), 8u);
  EXPECT_TRUE(std::equal(drawn_.begin() + 4, drawn_.end(), unbroken.begin() + 4)) << "in two processes";

  options_.run_name = "another";
  options_.seed = 1;
  EXPECT_EQ(draw(8), 0);
  EXPECT_NE(drawn_, unbroken);
}

// Restored after "noise", in the order of names.
struct Shuffled : Stateful {
  explicit Shuffled(std::mt19937_64& engine) : noise(engine) {}
  std::string save_state() const override { return "shuffled"; }
  void load_state(std::string_view) override { static_cast<void>(noise()); }
  std::mt19937_64& noise;
};

TEST_F(TrainSeedTest, AnObjectThatDrawsAsItIsRestoredChangesNoEngine) {
  const auto draw_with = [&](std::uint64_t steps) {
    std::vector<std::uint64_t> drawn;
    EXPECT_EQ(ratoon::train(options_,
                            [&](Session& session) {
                              std::mt19937_64 noise;
                              Shuffled shuffled(noise);
                              session.track("noise", noise);
                              session.track("shuffled", shuffled);
                              for ([[maybe_unused]] const std::uint64_t step : session.steps(steps))
                                drawn.push_back(noise());
                            }),
              0);
    return drawn;
  };
  const auto unbroken = draw_with(6);
  options_.run_name = "stopped";
  static_cast<void>(draw_with(3));
  EXPECT_EQ(draw_with(6), std::vector(unbroken.begin() + 3, unbroken.end()));
}

TEST_F(TrainSeedTest, WhatIsDrawnBeforeTheStepsIsTheSameAfterAResume) {
  std::vector<std::uint64_t> before_steps;
  for (const std::uint64_t steps : {3, 6}) {
    EXPECT_EQ(ratoon::train(options_,
                            [&](Session& session) {
                              std::mt19937_64 noise;
                              session.track("noise", noise);
                              before_steps.push_back(noise());
                              for ([[maybe_unused]] const std::uint64_t step : session.steps(steps)) noise();
                            }),
              0);
  }
  ASSERT_EQ(before_steps.size(), 2u);
  EXPECT_EQ(before_steps[0], before_steps[1]);
}

TEST_F(TrainSeedTest, AResumeWithAnotherOneSaysSo) {
  EXPECT_EQ(draw(4), 0);
  EXPECT_THAT(said_, Not(HasSubstr("may differ")));
  options_.seed = 3;
  EXPECT_EQ(draw(8), 0);
  EXPECT_THAT(said_, HasSubstr("bits may differ from those of an uninterrupted run: seed 0, now 3"));
}

TEST_F(TrainSeedTest, AnEngineOfAnotherKindIsRefused) {
  EXPECT_EQ(draw(4), 0);
  testing::internal::CaptureStderr();
  const int code = ratoon::train(options_, [&](Session& session) {
    std::minstd_rand noise;
    std::minstd_rand other;
    session.track("noise", noise);
    session.track("other", other);
    static_cast<void>(session.steps(8));
  });
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      HasSubstr("tracked 'noise': the checkpoint has another kind of random number engine under this name"));
  EXPECT_EQ(code, 82);
}

}  // namespace
}  // namespace ratoon::train_seed_test
