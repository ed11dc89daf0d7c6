#include <stdexcept>

#include <gtest/gtest.h>

#include <ratoon/every.h>
#include <ratoon/until.h>

namespace ratoon::until_test {
namespace {

using namespace std::chrono_literals;

// 256 samples a batch, 2 batches a step, 60,000 samples an epoch, a second a step.
RunPosition after_steps(std::uint64_t steps) {
  return {.steps = steps,
          .batches = 2 * steps,
          .samples = 512 * steps,
          .epoch_samples = 60'000,
          .trained = std::chrono::seconds(steps)};
}

std::uint64_t steps_until(const Until& until) {
  std::uint64_t steps = 0;
  while (!until.is_reached(after_steps(steps))) ++steps;
  return steps;
}

TEST(Until, CountsFromTheRunsBeginning) {
  EXPECT_EQ(steps_until(Until::steps(1000)), 1000u);
  EXPECT_EQ(steps_until(Until::batches(1001)), 501u);
  EXPECT_EQ(steps_until(Until::samples(513)), 2u);
  EXPECT_EQ(steps_until(Until::epochs(1)), 118u);  // the 118th step reaches over the end of the epoch
  EXPECT_EQ(steps_until(Until::duration(90s)), 90u);
  EXPECT_EQ(steps_until(Until::parse("0.5ep").value()), 59u);
}

TEST(Until, AResumedRunTrainsTheRest) {
  const Until until = Until::parse("90ep").value();
  RunPosition position{.samples = 25 * 60'000, .epoch_samples = 60'000};
  std::uint64_t epochs = 0;
  for (; !until.is_reached(position); ++epochs) position.samples += 60'000;
  EXPECT_EQ(epochs, 65u);
}

TEST(Until, ZeroIsOverBeforeItBegins) {
  EXPECT_EQ(steps_until(Until::steps(0)), 0u);
  EXPECT_EQ(steps_until(Until::epochs(0)), 0u);
  EXPECT_EQ(steps_until(Until::duration(-5s)), 0u);
}

TEST(Until, SaysTheBarsTotal) {
  EXPECT_EQ(Until::epochs(90).total(after_steps(7)), 90u * 60'000);
  EXPECT_EQ(Until::steps(1000).total(after_steps(7)), 1000u);
  EXPECT_EQ(Until::parse("0.33ep").value().total({.epoch_samples = 10}), 4u);
  EXPECT_EQ(Until::parse("90ep").value().unit(), CountedIn::kEpochs);
  EXPECT_EQ(Until::parse("1.50ep").value().text(), "1.5ep");
  EXPECT_FALSE(Until::parse("auto"));
  EXPECT_THROW(static_cast<void>(Until::epochs(1).is_reached(RunPosition{})), std::invalid_argument);
}

TEST(Every, IsDueOnTheRunsMultiplesWhereverItResumed) {
  const Every quarter = Every::parse("0.25ep").value();
  std::vector<std::uint64_t> due;
  for (std::uint64_t step = 1; step <= 240; ++step)
    if (quarter.is_due(after_steps(step - 1), after_steps(step))) due.push_back(step);
  // 15,000 samples are 29.3 steps: each time the first step at which a multiple is complete.
  EXPECT_EQ(due, (std::vector<std::uint64_t>{30, 59, 88, 118, 147, 176, 206, 235}));
  EXPECT_TRUE(quarter.is_due(after_steps(87), after_steps(88)));  // and so for one that resumed at 87
}

TEST(Every, TakesEachUnit) {
  const auto is_due = [](const Every& every, std::uint64_t step) {
    return every.is_due(after_steps(step - 1), after_steps(step));
  };
  EXPECT_TRUE(is_due(Every::steps(5), 10));
  EXPECT_FALSE(is_due(Every::steps(5), 11));
  EXPECT_TRUE(is_due(Every::batches(5), 3));
  EXPECT_FALSE(is_due(Every::batches(5), 4));
  EXPECT_TRUE(is_due(Every::samples(1000), 2));
  EXPECT_TRUE(is_due(Every::duration(10s), 10));
  EXPECT_FALSE(is_due(Every::duration(10s), 9));
  EXPECT_TRUE(is_due(Every::epochs({.count = 1, .parts = 4}), 30));
  EXPECT_TRUE(is_due(Every::epochs({.count = 2}), 235));
}

TEST(Every, MayBeAutomatic) {
  EXPECT_TRUE(Every::parse("auto").value().is_automatic());
  EXPECT_EQ(Every::automatic().text(), "auto");
  EXPECT_EQ(Every::parse("500ba").value(), Every::batches(500));
  EXPECT_THROW(static_cast<void>(Every::automatic().is_due(after_steps(0), after_steps(1))),
               std::invalid_argument);
  const auto refused = Every::parse("often");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("or auto"), std::string::npos);
}

TEST(Every, NeedsANumberAboveZero) {
  EXPECT_THROW(static_cast<void>(Every::steps(0)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(Every::duration(0s)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(Every::duration(-1s)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(Every::epochs({.count = 1, .parts = 0})), std::invalid_argument);
}

}  // namespace
}  // namespace ratoon::until_test
