#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/torch_order.h>

#include "tests/support/crash/effort.h"
#include "tests/support/damaged_state.h"
#include "tests/unit/agent/data/golden/torch_vectors.h"

namespace ratoon::torch_random_sampler_test {
namespace {

using nlohmann::json;
using test::Ids;
using test::torch_vectors;
using testing::ElementsAreArray;
using testing::HasSubstr;

std::uint64_t next_of(TorchGenerator generator) {
  return generator.draw_seed();
}

Loader loader_of(const std::string& name) {
  if (name == "workers") return Loader::kWorkers;
  if (name == "persistent") return Loader::kPersistentWorkers;
  return name == "loader" ? Loader::kInProcess : Loader::kNone;
}

RandomSamplerOptions options_of(const json& c) {
  return {.samples = c["samples"].get<std::uint64_t>(),
          .replacement = c["replacement"].get<bool>(),
          .num_samples = c["num_samples"].get<std::uint64_t>(),
          .flavour = c["package"] == "torch" ? SamplerFlavour::kTorch : SamplerFlavour::kTorchdata,
          .seeds_each_epoch = c["package"] == "torch" && c["default"].get<bool>(),
          .loader = loader_of(c["loader"].get<std::string>())};
}

// Three epochs, each read in pieces.
TEST(RandomSampler, IsThatOfPyTorchAndTorchdataOverEpochs) {
  ASSERT_GT(torch_vectors("random_samplers").size(), 200U);
  for (const json& c : torch_vectors("random_samplers")) {
    RandomSampler sampler(options_of(c), TorchGenerator(c["seed"].get<std::uint64_t>()));
    for (std::size_t epoch = 0; epoch < 3; ++epoch) {
      Ids order;
      while (sampler.remaining() > 0) {
        const Ids piece = sampler.fetch(7);
        order.insert(order.end(), piece.begin(), piece.end());
        sampler.advance(piece.size());
      }
      ASSERT_EQ(test::digest_of(order), c["digests"][epoch].get<std::uint64_t>()) << epoch << ": " << c;
      if (epoch == 1) {
        order.resize(std::min<std::size_t>(4, order.size()));
        EXPECT_THAT(order, ElementsAreArray(c["first"].get<Ids>())) << c;
      }
      sampler.begin_next_epoch();
    }
    EXPECT_EQ(sampler.epoch(), 3U);
    if (sampler.options().flavour == SamplerFlavour::kTorchdata && c["loader"] == "workers") continue;
    ASSERT_EQ(next_of(sampler.generator()), c["next"].get<std::uint64_t>()) << "where Python's ends: " << c;
  }
}

TEST(RandomSampler, DrawsFromVeryLargeDataSetsAsPyTorchDoes) {
  for (const json& c : torch_vectors("wide_draws")) {
    RandomSampler sampler({.samples = c["samples"].get<std::uint64_t>(),
                           .replacement = true,
                           .num_samples = c["num_samples"].get<std::uint64_t>()},
                          TorchGenerator(c["seed"].get<std::uint64_t>()));
    EXPECT_THAT(sampler.fetch(sampler.size()), ElementsAreArray(c["order"].get<Ids>())) << c["samples"];
    sampler.begin_next_epoch();
    EXPECT_EQ(next_of(sampler.generator()), c["next"].get<std::uint64_t>()) << c["samples"];
  }
}

// Of torch 2.5.1.
TEST(RandomSampler, DrawsFromVeryLargeDataSetsAsOldReleasesDid) {
  const auto draw = [](std::uint64_t samples) {
    RandomSampler sampler(
        {.samples = samples, .replacement = true, .num_samples = 4, .release = TorchRelease::kBefore2_6},
        TorchGenerator(3));
    return sampler.fetch(4);
  };
  EXPECT_THAT(draw((1ULL << 28) + 5), ElementsAreArray({218175298, 35325587, 88681666, 117892674}));
  EXPECT_THAT(draw((1ULL << 32) - 1), ElementsAreArray({2365658986U, 303761048U, 3041471737U, 3607553667U}));
  EXPECT_THAT(draw(1ULL << 32), ElementsAreArray({303761048U, 3607553667U, 521102280U, 2445173525U}));
}

std::vector<RandomSamplerOptions> every_kind() {
  std::vector<RandomSamplerOptions> kinds;
  for (const bool replacement : {false, true}) {
    for (const std::uint64_t num_samples : {0U, 10U, 75U}) {
      for (const Loader loader :
           {Loader::kNone, Loader::kInProcess, Loader::kWorkers, Loader::kPersistentWorkers}) {
        const RandomSamplerOptions kind{
            .samples = 23, .replacement = replacement, .num_samples = num_samples, .loader = loader};
        kinds.push_back(kind);
        kinds.push_back(kind);
        kinds.back().seeds_each_epoch = true;
        kinds.push_back(kind);
        kinds.back().flavour = SamplerFlavour::kTorchdata;
      }
    }
  }
  return kinds;
}

TEST(RandomSampler, ResumedAtAnySampleItGoesOnAsIfUnbroken) {
  const std::uint64_t stride = test::kEffortPercent == 100 ? 1 : 11;  // a minute of a sanitizer's work
  for (const RandomSamplerOptions& kind : every_kind()) {
    RandomSampler sampler(kind, TorchGenerator(5));
    sampler.begin_next_epoch();
    const Ids order = sampler.fetch(sampler.size());
    RandomSampler next = sampler;
    next.begin_next_epoch();
    const Ids order_of_next = next.fetch(next.size());
    sampler.rewind();
    for (std::uint64_t place = 0; place <= order.size(); place += stride) {
      RandomSampler resumed(kind, TorchGenerator(99));
      resumed.load_state(sampler.save_state());
      ASSERT_EQ(resumed.save_state(), sampler.save_state());
      EXPECT_EQ(resumed.epoch(), 1U);
      ASSERT_THAT(resumed.fetch(resumed.size()),
                  ElementsAreArray(order.begin() + static_cast<std::ptrdiff_t>(place), order.end()))
          << place;
      resumed.begin_next_epoch();
      ASSERT_THAT(resumed.fetch(resumed.size()), ElementsAreArray(order_of_next)) << place;
      if (place + stride <= order.size()) sampler.advance(stride);
    }
  }
}

TEST(RandomSampler, WhatIsFetchedAndNotTrainedComesAgain) {
  RandomSampler sampler({.samples = 10}, TorchGenerator(0));
  EXPECT_THAT(sampler.fetch(4), ElementsAreArray({4, 1, 7, 5}));
  sampler.advance(2);
  EXPECT_THAT(sampler.fetch(2), ElementsAreArray({3, 9}));
  sampler.rewind();
  EXPECT_THAT(sampler.fetch(2), ElementsAreArray({7, 5}));
  sampler.advance(8);
  EXPECT_TRUE(sampler.fetch(2).empty());
  EXPECT_THROW(sampler.advance(1), std::invalid_argument);
}

TEST(RandomSampler, RefusesStatesThatDoNotFit) {
  const std::string whole = RandomSampler({.samples = 10}, TorchGenerator(3)).save_state();
  const std::string state = test::of_format_1(whole);
  EXPECT_LT(whole.size(), 5500U);
  const auto sentence = [](const RandomSamplerOptions& options, const std::string& text) -> std::string {
    RandomSampler sampler(options, TorchGenerator(4));
    try {
      sampler.load_state(text);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.exit_code, 82);
      EXPECT_TRUE(sampler.generator() == TorchGenerator(4)) << "nothing is taken over";
      return failure.what();
    }
    return "no Failure was thrown";
  };
  EXPECT_THAT(sentence({.samples = 11}, state), HasSubstr("num_samples is 10, but in the program it is 11"));
  EXPECT_THAT(sentence({.samples = 10, .replacement = true}, state),
              HasSubstr("replacement is false, but in the program it is true"));
  EXPECT_THAT(sentence({.samples = 10, .flavour = SamplerFlavour::kTorchdata}, state),
              HasSubstr(R"(package is "torch", but in the program it is "torchdata")"));
  EXPECT_THAT(sentence({.samples = 10, .seeds_each_epoch = true}, state),
              HasSubstr("seeds_each_epoch is false"));
  EXPECT_THAT(sentence({.samples = 10, .loader = Loader::kWorkers}, state),
              HasSubstr(R"(loader is "none", but in the program it is "workers")"));
  const auto with = [&state](const std::string& from, const std::string& to) {
    return std::string(state).replace(state.find(from), from.size(), to);
  };
  EXPECT_THAT(sentence({.samples = 10}, with("\"generator\":\"", "\"generator\":\"0")),
              HasSubstr("5041 characters"));
  EXPECT_THAT(sentence({.samples = 10}, with("\"generator\":\"0", "\"generator\":\"g")),
              HasSubstr("hexadecimal digits"));
  EXPECT_THAT(sentence({.samples = 10}, with("\"progress\":0", "\"progress\":11")),
              HasSubstr("state.progress"));
}

TEST(RandomSampler, NoDamageOfItsStateLoadsAndOneFromBeforeItHadADigestDoes) {
  RandomSampler saved({.samples = 10}, TorchGenerator(3));
  saved.advance(4);
  constexpr std::size_t kStride = 41;  // most of it is the generator
  test::expect_that_no_damage_loads(
      saved.save_state(),
      [](const std::string& damaged) {
        RandomSampler({.samples = 10}, TorchGenerator(4)).load_state(damaged);
      },
      kStride);
  RandomSampler sampler({.samples = 10}, TorchGenerator(4));
  sampler.load_state(test::of_format_1(saved.save_state()));
  EXPECT_EQ(sampler.save_state(), saved.save_state());
}

TEST(RandomSampler, RefusesOptionsAndPlacesThatAreNone) {
  const TorchGenerator generator;
  EXPECT_THROW(RandomSampler({.samples = 0}, generator), std::invalid_argument);
  EXPECT_THROW(RandomSampler({.samples = std::uint64_t{1} << 60}, generator), std::invalid_argument);
  EXPECT_THROW(RandomSampler({.samples = 1, .flavour = SamplerFlavour::kTorchdata, .seeds_each_epoch = true},
                             generator),
               std::invalid_argument);
  RandomSampler sampler({.samples = 3}, generator);
  EXPECT_THROW(sampler.seek(generator, 4), std::invalid_argument);
}

}  // namespace
}  // namespace ratoon::torch_random_sampler_test
