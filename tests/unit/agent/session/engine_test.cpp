// The engine against a link that says what a test wants: saves that ranks agreed on, and leaving for a
// replacement.
#include "agent/src/session/engine.h"

#include <future>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/session/control_word.h"
#include "tests/support/temporary_folder.h"

namespace ratoon {
namespace {

using namespace std::chrono_literals;
using session::Milestone;
using session::Standing;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kAttempt = 7;

// Time passes with every look that the engine takes outside.
class ScriptedLink final : public session::Link {
 public:
  Result<Assignment> join(const std::vector<InventoryEntry>&, Attempt) override {
    return Error(ErrorKind::kCancelled, "no world");
  }
  int listening_fd() const override { return 42; }
  std::string own_host() const override { return "10.0.0.7"; }
  void note(const session::Position& position) override {
    clock.advance(look_takes);
    if (milestones.empty() || milestones.back() != position.milestone)
      milestones.push_back(position.milestone);
    noted = position;
  }
  Standing standing() const override { return said; }
  std::string reason() const override { return "because the test says so"; }
  session::Wanted wanted() const override { return wants; }
  Result<void> complete(const session::Position&) override { return {}; }

  ManualClock clock;
  Duration look_takes = 1ms;
  Standing said = Standing::kGoOn;
  session::Wanted wants;
  session::Position noted;
  std::vector<Milestone> milestones;
};

// One rank: a sum over steps.
class TestRank {
 public:
  TestRank(const std::filesystem::path& folder, std::uint32_t rank, std::uint32_t world_size,
           std::optional<ResumePoint> resume = std::nullopt)
      : store_(checkpoint::RunStore::open(folder).value()),
        engine_({.options = options_, .store = store_, .link = link, .clock = link.clock, .meters = meters},
                {.attempt = Attempt(kAttempt),
                 .rank = Rank(rank),
                 .world_size = world_size,
                 .rendezvous = "[fd00::7]:29400",
                 .resume = std::move(resume)}) {
    engine_.track(
        "sum", [this] { return std::to_string(sum); },
        [this](std::string_view state) {
          sum = std::stoull(std::string(state));
          return true;
        });
  }
  void begin(std::uint64_t total) { engine_.begin(total); }
  void step(std::uint32_t agreed_of_all = 0) {
    sum += engine_.step().value();
    if (agreed_of_all != 0) engine_.agree(agreed_of_all);
    engine_.end_step();
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  Session::Engine& engine() { return engine_; }
  std::vector<std::uint64_t> committed() const {  // steps, newest first
    std::vector<std::uint64_t> steps;
    const auto inventory = store_.inventory().value();
    for (const auto& entry : inventory.complete) steps.push_back(entry.step.value());
    return steps;
  }

  ScriptedLink link;
  metrics::Meters meters;
  std::uint64_t sum = 0;

 private:
  const Options options_{
      .save_folder = "", .run_name = "", .save_every_steps = 10, .keep_last = 9, .member = {}};
  const checkpoint::RunStore store_;
  Session::Engine engine_;
};

class EngineTest : public testing::Test {
 protected:
  TestRank rank(std::uint32_t number, std::uint32_t world_size) {
    return TestRank(folder_.path(), number, world_size);
  }
  test::TemporaryFolder folder_;
};

TEST_F(EngineTest, TellsWhereTheRanksMeet) {
  auto first = rank(0, 2);
  EXPECT_EQ(first.engine().rendezvous().host, "fd00::7");
  EXPECT_EQ(first.engine().rendezvous().port, 29400);
  EXPECT_EQ(first.engine().rendezvous().listening_fd, 42);
  EXPECT_EQ(first.engine().rendezvous().own_host, "10.0.0.7");
  EXPECT_EQ(rank(1, 2).engine().rendezvous().listening_fd, -1) << "only rank 0 listens";
}

TEST_F(EngineTest, TellsEachStageOfGettingToWork) {
  auto alone = rank(0, 1);
  EXPECT_EQ(alone.link.noted.phase, ProcessPhase::kLoad);
  alone.begin(100);
  EXPECT_EQ(alone.link.noted.phase, ProcessPhase::kCompute);
  alone.steps(2);
  EXPECT_THAT(alone.link.milestones,
              ElementsAre(Milestone::kJoined, Milestone::kLoaded, Milestone::kStepped));
}

TEST_F(EngineTest, AloneARequestToSaveIsServedAtOnceAndOnce) {
  auto alone = rank(0, 1);
  alone.begin(100);
  alone.steps(3);
  alone.link.wants.save_request = 1;
  alone.steps(3);
  EXPECT_THAT(alone.committed(), ElementsAre(4));
  EXPECT_EQ(alone.engine().wishes(), 0u);
  alone.link.wants.save_request = 2;
  alone.step();
  EXPECT_THAT(alone.committed(), ElementsAre(7, 4));
}

// A second pack of one step would be refused by the store, since its name is taken.
TEST_F(EngineTest, ASaveThatIsDueServesTheRequestToo) {
  auto alone = rank(0, 1);
  alone.begin(100);
  alone.steps(9);
  alone.link.wants.save_request = 1;
  alone.steps(2);
  EXPECT_THAT(alone.committed(), ElementsAre(10));
}

TEST_F(EngineTest, AloneItLeavesForAReplacementOnceAllIsCommitted) {
  auto alone = rank(0, 1);
  alone.begin(100);
  alone.steps(2);
  alone.link.wants.hand_over = Attempt(kAttempt - 1);
  alone.step();
  EXPECT_TRUE(alone.committed().empty()) << "that was another attempt's";
  alone.link.wants.hand_over = Attempt(kAttempt);
  try {
    alone.step();
    FAIL() << "it goes on";
  } catch (const Interrupted& why) {
    EXPECT_STREQ(why.what(), "handed over at step 4: a replacement is ready");
  }
  EXPECT_THAT(alone.committed(), ElementsAre(4));
  ASSERT_TRUE(alone.link.noted.committed.has_value());
  EXPECT_EQ(alone.link.noted.committed->step, Step(4)) << "told before it leaves";
  EXPECT_EQ(alone.link.noted.step, Step(4));
}

TEST_F(EngineTest, AtTheEndOfTheTrainingNothingIsLeftToHandOver) {
  auto alone = rank(0, 1);
  alone.begin(5);
  alone.steps(4);
  alone.link.wants.hand_over = Attempt(kAttempt);
  EXPECT_NO_THROW(alone.step());
  alone.engine().finish();
  EXPECT_THAT(alone.committed(), ElementsAre(5));
}

TEST_F(EngineTest, ManyWishOneAgreesAndAllSaveAfterTheSameStep) {
  auto first = rank(0, 2);
  auto second = rank(1, 2);
  for (auto* rank : {&first, &second}) rank->begin(100);
  second.link.wants.save_request = 3;  // the first has not heard of it yet
  const std::uint32_t agreed = first.engine().wishes() | second.engine().wishes();
  EXPECT_EQ(agreed, session::control::kSave);
  second.step(agreed);
  first.step(agreed);
  EXPECT_THAT(first.committed(), ElementsAre(1));
  EXPECT_EQ(second.engine().wishes(), 0u);
  second.step();
  first.step();
  EXPECT_THAT(first.committed(), ElementsAre(1)) << "agreed for one step only";
}

TEST_F(EngineTest, ManyWithoutACollectiveDoNotActOnTheirOwnWishes) {
  auto first = rank(0, 2);
  first.begin(100);
  first.link.look_takes = 10s;  // whoever waits for the other rank gives up soon
  first.link.wants = {.save_request = 1, .hand_over = Attempt(kAttempt)};
  EXPECT_EQ(first.engine().wishes(), session::control::kSave | session::control::kLeave);
  EXPECT_NO_THROW(first.steps(3)) << "the other rank may be at another step";
  auto second = rank(1, 2);
  second.begin(100);
  second.steps(3);
  EXPECT_TRUE(first.committed().empty());
}

TEST_F(EngineTest, ManyLeaveOnlyWhenTheCheckpointOfAllIsThere) {
  auto first = rank(0, 2);
  auto second = rank(1, 2);
  for (auto* rank : {&first, &second}) {
    rank->begin(100);
    rank->steps(4);
  }
  auto leaving = std::async(std::launch::async, [&] { first.step(session::control::kLeave); });
  EXPECT_EQ(leaving.wait_for(50ms), std::future_status::timeout) << "the other rank has not saved";
  EXPECT_THROW(second.step(session::control::kLeave), Interrupted);
  EXPECT_THROW(leaving.get(), Interrupted);
  EXPECT_THAT(first.committed(), ElementsAre(5));
  EXPECT_EQ(first.link.noted.phase, ProcessPhase::kSave);
}

TEST_F(EngineTest, AHandOverWaitsForOthersButNotForEver) {
  auto first = rank(0, 2);
  first.begin(100);
  first.link.look_takes = 1s;
  try {
    first.step(session::control::kLeave);
    FAIL() << "it goes on";
  } catch (const Interrupted& why) {
    EXPECT_THAT(why.what(),
                HasSubstr("its checkpoint was not committed within 60 s: an older one is resumed"));
  }
  EXPECT_TRUE(first.committed().empty());
}

TEST_F(EngineTest, AHandOverObeysWhoeverTellsItToStop) {
  for (const auto standing : {Standing::kStop, Standing::kFenced}) {
    test::TemporaryFolder folder;
    TestRank first(folder.path(), 0, 2);
    first.begin(100);
    first.link.said = standing;
    EXPECT_THROW(first.step(session::control::kLeave), Failure);
  }
}

TEST_F(EngineTest, CountsStepsOnceTheyAreMadeAndThoseMadeAgain) {
  auto alone = rank(0, 1);
  alone.begin(100);
  alone.steps(10);
  const auto saved = *alone.link.noted.committed;
  EXPECT_EQ(alone.meters.step, 10u);
  EXPECT_EQ(alone.meters.durable_step, 10u);
  EXPECT_EQ(alone.meters.world_size, 1u);
  EXPECT_EQ(alone.meters.attempt, kAttempt);
  EXPECT_GT(alone.meters.save_stall.total(), 0ns);
  std::uint64_t observed = 0;
  for (std::size_t i = 0; i <= metrics::StepTimes::kBounds.size(); ++i)
    observed += alone.meters.step_times.count(i);
  EXPECT_EQ(observed, 10u);

  const Options options{.save_every_steps = 10};
  const auto store = checkpoint::RunStore::open(folder_.path()).value();
  alone.meters.step = 13;  // as if three more had been made and lost
  Session::Engine next(
      {.options = options,
       .store = store,
       .link = alone.link,
       .clock = alone.link.clock,
       .meters = alone.meters},
      {.attempt = Attempt(kAttempt + 1),
       .resume = ResumePoint{.attempt = saved.attempt, .step = saved.step, .digest = saved.digest}});
  next.begin(100);
  EXPECT_EQ(alone.meters.step, 10u);
  EXPECT_EQ(alone.meters.replayed_steps, 3u);
}

}  // namespace
}  // namespace ratoon
