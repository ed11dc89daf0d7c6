// The reports of two ranks, added up as a collective would.
#include <limits>

#include <gtest/gtest.h>

#include "agent/src/session/engine/engine.h"
#include "base/core/random_name.h"
#include "tests/support/borrowed.h"
#include "tests/support/quiet_link.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::engine_means_test {
namespace {

struct TestRank {
  TestRank(const std::filesystem::path& folder, std::uint32_t rank, std::uint32_t world_size)
      : options{.save_folder = folder.string(),
                .run_name = "",
                .save_every = Every::steps(100),
                .member = {}},
        places(options, test::borrowed(meters)),
        saver(checkpoint::Saver::open(places.home(), random_hex_name(), std::make_shared<SystemClock>(),
                                      {.pause = {}, .has_writer_thread = false})
                  .value()),
        engine({.options = options,
                .places = places,
                .saver = saver,
                .link = link,
                .clock = clock,
                .meters = meters},
               {.attempt = Attempt(1), .rank = Rank(rank), .world_size = world_size, .resume = {}}) {
    engine.begin(Until::steps(4));
  }

  const Options options;
  test::QuietLink link;
  ManualClock clock;
  metrics::Meters meters;
  session::CheckpointLocations places;
  checkpoint::Saver saver;
  Session::Engine engine;
};

TEST(EngineMeans, ShowsTheMeanOverRanksWhereTheyAddUp) {
  const test::TemporaryFolder folder;
  TestRank first(folder.path(), 0, 2);
  TestRank second(folder.path(), 1, 2);
  first.engine.report("loss", 1, 30);
  second.engine.report("loss", 5, 10);
  auto sums = first.engine.numbers();
  const auto others = second.engine.numbers();
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += others[i];
  for (TestRank* rank : {&first, &second}) {
    rank->engine.take_sums(sums);
    rank->engine.end_step();
    EXPECT_EQ(rank->meters.values.all().at("loss"), 2);
    EXPECT_EQ(rank->meters.progress, 0.25);
  }
}

TEST(EngineMeans, WhatComesAfterTheSumsBelongsToItsOwnStep) {
  const test::TemporaryFolder folder;
  TestRank first(folder.path(), 0, 2);
  TestRank second(folder.path(), 1, 2);
  const auto make_step = [&](double of_first, double of_second) {
    first.engine.report("loss", of_first, 1);
    second.engine.report("loss", of_second, 1);
    auto sums = first.engine.numbers();
    const auto others = second.engine.numbers();
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += others[i];
    first.engine.take_sums(sums);
    second.engine.take_sums(sums);
  };
  make_step(1, 5);
  first.engine.report("validation", 9, 1);
  first.engine.end_step();
  second.engine.end_step();
  EXPECT_EQ(first.meters.values.all().at("validation"), 9) << "rank 0's own";
  EXPECT_FALSE(second.meters.values.all().contains("validation"));
  make_step(2, 6);
  first.engine.end_step();
  EXPECT_EQ(first.meters.values.all().at("loss"), 4) << "the next mean is as if nothing had come late";
}

TEST(EngineMeans, AnEmptyShareCountsNothing) {
  const test::TemporaryFolder folder;
  TestRank alone(folder.path(), 0, 1);
  const double none = std::numeric_limits<double>::quiet_NaN();
  alone.engine.report("loss", 9, 4);
  alone.engine.report("loss", none, 0);
  alone.engine.end_step();
  EXPECT_EQ(alone.meters.values.all().at("loss"), 9);
  alone.engine.report("loss", none, 0);
  alone.engine.end_step();
  EXPECT_EQ(alone.meters.values.all().at("loss"), 9) << "there is no newer one";
}

TEST(EngineMeans, AloneItShowsItsOwn) {
  const test::TemporaryFolder folder;
  TestRank alone(folder.path(), 0, 1);
  alone.engine.report("loss", 9, 1);
  alone.engine.end_step();
  EXPECT_EQ(alone.meters.values.all().at("loss"), 9);
}

}  // namespace
}  // namespace ratoon::engine_means_test
