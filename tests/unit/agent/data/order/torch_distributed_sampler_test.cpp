#include <functional>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/torch_order.h>

#include "tests/support/damaged_state.h"
#include "tests/unit/agent/data/golden/torch_vectors.h"

namespace ratoon::torch_distributed_sampler_test {
namespace {

using nlohmann::json;
using test::Ids;
using test::of_format_1;
using test::torch_vectors;
using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

DistributedSamplerOptions options_of(const json& c, std::uint32_t rank) {
  return {.samples = c["samples"].get<std::uint64_t>(),
          .world_size = c["world"].get<std::uint32_t>(),
          .rank = rank,
          .seed = c["seed"].get<std::uint64_t>(),
          .shuffle = c.value("shuffle", true),
          .drop_last = c.value("drop_last", false)};
}

Ids rest_of(DistributedSampler& sampler) {
  return sampler.fetch(sampler.remaining());
}

TEST(DistributedSampler, IsThatOfPyTorchOverAGrid) {
  ASSERT_GT(torch_vectors("distributed").size(), 500U);
  for (const json& c : torch_vectors("distributed")) {
    std::uint64_t digest = test::kDigestStart;
    Ids last;
    for (std::uint32_t rank = 0; rank < c["world"].get<std::uint32_t>(); ++rank) {
      DistributedSampler sampler(options_of(c, rank));
      sampler.set_epoch(c["epoch"].get<std::uint64_t>());
      ASSERT_EQ(sampler.size(), c["size"].get<std::uint64_t>()) << c;
      last = rest_of(sampler);
      digest = test::digest_of(last, digest);
    }
    last.erase(last.begin(), last.end() - std::min<std::ptrdiff_t>(2, std::ssize(last)));
    EXPECT_THAT(last, ElementsAreArray(c["last"].get<Ids>())) << c;
    ASSERT_EQ(digest, c["digest"].get<std::uint64_t>()) << c;
  }
}

TEST(DistributedSampler, TheExampleOfTheSpecification) {
  const auto order = [](std::uint32_t rank, bool drop_last) {
    DistributedSampler sampler({.samples = 10, .world_size = 4, .rank = rank, .drop_last = drop_last});
    return rest_of(sampler);
  };
  EXPECT_THAT(order(0, false), ElementsAre(4, 3, 6));
  EXPECT_THAT(order(1, false), ElementsAre(1, 9, 2));
  EXPECT_THAT(order(2, false), ElementsAre(7, 0, 4));
  EXPECT_THAT(order(3, false), ElementsAre(5, 8, 1));
  EXPECT_THAT(order(0, true), ElementsAre(4, 3));
  EXPECT_THAT(order(3, true), ElementsAre(5, 8));
}

TEST(DistributedSampler, GivesADataLoadersBatches) {
  for (const json& c : torch_vectors("loader_batches")) {
    for (std::uint32_t rank = 0; rank < c["world"].get<std::uint32_t>(); ++rank) {
      DistributedSamplerOptions options = options_of(c, rank);
      options.drop_last = false;  // of the case, it is the loader's
      DistributedSampler sampler(options);
      sampler.set_epoch(c["epoch"].get<std::uint64_t>());
      const BatchRanges ranges(sampler.size(), c["batch"].get<std::uint64_t>(), c["drop_last"].get<bool>());
      json batches = json::array();
      for (std::uint64_t i = 0; i < ranges.size(); ++i) {
        batches.push_back(sampler.fetch(ranges[i].second - ranges[i].first));
        sampler.advance(batches.back().size());
      }
      EXPECT_EQ(batches, c["batches"][rank]) << c;
    }
  }
}

TEST(DistributedSampler, WhatIsFetchedAndNotTrainedComesAgain) {
  DistributedSampler sampler({.samples = 10, .world_size = 2, .rank = 0});
  EXPECT_THAT(sampler.fetch(2), ElementsAre(4, 7));
  EXPECT_THAT(sampler.fetch(2), ElementsAre(3, 0));
  sampler.advance(2);
  EXPECT_EQ(sampler.progress(), 2U);
  EXPECT_EQ(sampler.position(), (ListPosition{.epoch = 0, .consumed = 4}));
  DistributedSampler resumed(sampler.options());
  resumed.load_state(sampler.save_state());
  EXPECT_THAT(resumed.fetch(2), ElementsAre(3, 0)) << "the second batch was not trained";
  sampler.rewind();
  EXPECT_THAT(sampler.fetch(9), ElementsAre(3, 0, 6)) << "to the end of the epoch, no further";
  EXPECT_TRUE(sampler.fetch(9).empty());
}

TEST(DistributedSampler, WhatIsTrainedWithoutFetchingIsNotFetchedLater) {
  DistributedSampler sampler({.samples = 10, .world_size = 2, .rank = 0});
  sampler.advance(2);
  EXPECT_THAT(sampler.fetch(2), ElementsAre(3, 0));
  sampler.advance(3);
  EXPECT_TRUE(sampler.fetch(2).empty());
}

TEST(DistributedSampler, AdvancesToTheEndOfTheEpochAndNotBeyond) {
  DistributedSampler sampler({.samples = 10, .world_size = 4, .rank = 0});
  sampler.advance(3);
  EXPECT_EQ(sampler.remaining(), 0U);
  try {
    sampler.advance(1);
    FAIL();
  } catch (const std::invalid_argument& refusal) {
    EXPECT_THAT(refusal.what(), AllOf(HasSubstr("advance(1)"), HasSubstr("epoch 0"), HasSubstr("0 samples")));
  }
  sampler.set_epoch(0);
  EXPECT_EQ(sampler.remaining(), 0U) << "the epoch at hand stays as it is";
  sampler.set_epoch(1);
  EXPECT_EQ(sampler.remaining(), 3U);
}

// A loop over epochs that is interrupted after any sample and begun again goes on as if uninterrupted.
TEST(DistributedSampler, ResumedAtAnySampleItGoesOnAsIfUnbroken) {
  const DistributedSamplerOptions options{.samples = 11, .world_size = 3, .rank = 1, .seed = 5};
  Ids unbroken;
  std::vector<std::string> states;
  DistributedSampler sampler(options);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (sampler.set_epoch(epoch); sampler.remaining() > 0; sampler.advance(1)) {
      states.push_back(sampler.save_state());
      unbroken.push_back(sampler.fetch(1).at(0));
    }
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    DistributedSampler resumed(options);
    resumed.load_state(states[i]);
    EXPECT_EQ(resumed.save_state(), states[i]);
    Ids rest;
    for (std::uint64_t epoch = resumed.epoch(); epoch < 3; ++epoch) {
      for (resumed.set_epoch(epoch); resumed.remaining() > 0; resumed.advance(1))
        rest.push_back(resumed.fetch(1).at(0));
    }
    EXPECT_THAT(rest, ElementsAreArray(unbroken.begin() + static_cast<std::ptrdiff_t>(i), unbroken.end()));
  }
}

// Any chain of worlds: the entries of the list, one after the other, and padding only after its end.
TEST(DistributedSampler, AnotherWorldSharesOutTheRestOfTheList) {
  for (const bool drop_last : {false, true}) {
    std::string state = DistributedSampler({.samples = 100, .seed = 9, .drop_last = drop_last}).save_state();
    Ids seen;
    for (const std::uint32_t world : {8U, 5U, 7U, 1U, 3U, 4U}) {
      std::vector<DistributedSampler> ranks;
      for (std::uint32_t rank = 0; rank < world; ++rank) {
        ranks.emplace_back(DistributedSamplerOptions{
            .samples = 100, .world_size = world, .rank = rank, .seed = 9, .drop_last = drop_last});
        ranks.back().load_state(state);
      }
      const bool is_last = world == 4;
      for (std::uint64_t step = 0; is_last ? ranks[0].remaining() > 0 : step < 4; ++step) {
        for (DistributedSampler& rank : ranks) {
          seen.push_back(rank.fetch(1).at(0));
          rank.advance(1);
        }
      }
      state = ranks[world / 2].save_state();
      for (const DistributedSampler& rank : ranks)
        EXPECT_EQ(rank.save_state(), state) << "of the whole world";
    }
    DistributedSampler alone({.samples = 100, .seed = 9});
    const Ids list = rest_of(alone);
    const std::uint64_t left_over = (100 - 4 * 24) % 4;
    EXPECT_EQ(seen.size(), drop_last || left_over == 0 ? 100U - left_over : 104U - left_over);
    for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], list[i % 100]) << i;
    DistributedSampler next({.samples = 100, .world_size = 6, .rank = 5, .seed = 9, .drop_last = drop_last});
    next.load_state(state);
    EXPECT_EQ(next.remaining(), 0U) << "the epoch is over in every world";
  }
}

TEST(DistributedSampler, PadsAfterAResizeComeFromTheFrontOfTheList) {
  DistributedSampler alone({.samples = 10, .seed = 0});
  const Ids list = rest_of(alone);  // 4 1 7 5 3 9 0 8 6 2
  Ids of_all;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    DistributedSampler sampler({.samples = 10, .world_size = 4, .rank = rank});
    sampler.seek({.epoch = 0, .consumed = 3});
    EXPECT_EQ(sampler.remaining(), 2U);
    for (const std::uint64_t sample : rest_of(sampler)) of_all.push_back(sample);
  }
  EXPECT_THAT(of_all, ElementsAre(5, 8, 3, 6, 9, 2, 0, 4)) << "7 are left for 4 ranks, so one comes twice";
}

TEST(DistributedSampler, CanRepeatTheOrderOfEpoch0) {
  DistributedSampler frozen({.samples = 30, .seed = 3, .repeat_epoch_0 = true});
  DistributedSampler sampler({.samples = 30, .seed = 3});
  const Ids first = rest_of(sampler);
  for (const std::uint64_t epoch : {1U, 2U, 7U}) {
    frozen.set_epoch(epoch);
    sampler.set_epoch(epoch);
    EXPECT_EQ(rest_of(frozen), first);
    EXPECT_NE(rest_of(sampler), first);
    EXPECT_EQ(frozen.position().epoch, epoch);
  }
}

std::string sentence_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, 82);
    return failure.what();
  }
  return "no Failure was thrown";
}

TEST(DistributedSampler, ItsStateIsOneLineThatNeverChanges) {
  DistributedSampler sampler({.samples = 10, .world_size = 4, .rank = 3, .seed = 17});
  sampler.set_epoch(2);
  sampler.advance(1);
  EXPECT_EQ(sampler.save_state(),
            R"({"consumed":4,"epoch":2,"format":2,"options":{"drop_last":false,"order":"torch-2.6+",)"
            R"("repeat_epoch_0":false,"samples":10,"seed":17,"shuffle":true},"sampler":"DistributedSampler",)"
            R"("state_digest":"a43e0b2bc4754719"})");
}

TEST(DistributedSampler, AStateFromBeforeItHadADigestLoads) {
  DistributedSampler saved({.samples = 10, .world_size = 4, .rank = 3, .seed = 17});
  saved.set_epoch(2);
  saved.advance(1);
  DistributedSampler sampler({.samples = 10, .world_size = 4, .rank = 3, .seed = 17});
  sampler.load_state(of_format_1(saved.save_state()));
  EXPECT_EQ(sampler.save_state(), saved.save_state());
}

TEST(DistributedSampler, NoDamageOfItsStateLoads) {
  DistributedSampler saved({.samples = 10, .world_size = 4, .rank = 3, .seed = 17});
  saved.set_epoch(2);
  saved.advance(1);
  test::expect_that_no_damage_loads(saved.save_state(), [](const std::string& damaged) {
    DistributedSampler({.samples = 10, .world_size = 4, .rank = 3, .seed = 17}).load_state(damaged);
  });
}

TEST(DistributedSampler, RefusesTheStateOfAnotherOrderWithBothValues) {
  DistributedSampler saved({.samples = 10, .seed = 1});
  saved.advance(4);
  const struct {
    const char* sentence;
    DistributedSamplerOptions options;
  } cases[] = {
      {"samples is 10, but in the program it is 11", {.samples = 11, .seed = 1}},
      {"seed is 1, but in the program it is 2", {.samples = 10, .seed = 2}},
      {"shuffle is true, but in the program it is false", {.samples = 10, .seed = 1, .shuffle = false}},
      {"drop_last is false, but in the program it is true", {.samples = 10, .seed = 1, .drop_last = true}},
      {"repeat_epoch_0 is false, but", {.samples = 10, .seed = 1, .repeat_epoch_0 = true}},
      {R"(order is "torch-2.6+", but in the program it is "torch-legacy")",
       {.samples = 10, .seed = 1, .release = TorchRelease::kBefore2_6}},
  };
  for (const auto& c : cases) {
    DistributedSampler sampler(c.options);
    EXPECT_THAT(sentence_of([&] { sampler.load_state(saved.save_state()); }), HasSubstr(c.sentence));
    EXPECT_EQ(sampler.progress(), 0U) << "nothing is taken over";
  }
}

TEST(DistributedSampler, RefusesWhatIsNoState) {
  const std::string good = of_format_1(DistributedSampler({.samples = 10}).save_state());
  const auto with = [&good](const std::string& from, const std::string& to) {
    return std::string(good).replace(good.find(from), from.size(), to);
  };
  const struct {
    std::string state;
    const char* sentence;
  } cases[] = {{"", "cannot be read"},
               {"[]", "cannot be read"},
               {with("\"format\":1", "\"format\":3"), "a newer version of Ratoon wrote this"},
               {with("\"consumed\":0", "\"consumed\":11"), "state.consumed"},
               {with("\"epoch\":0", "\"epoch\":-1"), "state.epoch"},
               {with("DistributedSampler", "RandomSampler"), "state.sampler"},
               {with("\"seed\":0", "\"seed\":0,\"more\":1"), "options that this Ratoon does not know"},
               {with("\"seed\":0", "\"sead\":0"), "seed is absent"}};
  for (const auto& c : cases) {
    DistributedSampler sampler({.samples = 10});
    EXPECT_THAT(sentence_of([&] { sampler.load_state(c.state); }),
                AllOf(HasSubstr("the state of the DistributedSampler"), HasSubstr(c.sentence)))
        << c.state;
  }
}

TEST(DistributedSampler, RefusesOptionsAndPlacesThatAreNone) {
  EXPECT_THROW(DistributedSampler({.samples = 10, .world_size = 2, .rank = 2}), std::invalid_argument);
  EXPECT_THROW(DistributedSampler({.samples = 10, .world_size = 0}), std::invalid_argument);
  EXPECT_THROW(DistributedSampler({.samples = (std::uint64_t{1} << 53) + 1}), std::invalid_argument);
  DistributedSampler sampler({.samples = 10, .world_size = 4});
  EXPECT_THROW(static_cast<void>(sampler.at(3)), std::out_of_range);
  EXPECT_THROW(sampler.seek({.epoch = 0, .consumed = 11}), std::invalid_argument);
  EXPECT_THROW(BatchRanges(10, 0, false), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(BatchRanges(10, 5, false)[2]), std::out_of_range);
}

TEST(BatchRanges, AreThoseOfBatchSampler) {
  for (const json& c : torch_vectors("batches")) {
    const BatchRanges ranges(c["samples"].get<std::uint64_t>(), c["batch"].get<std::uint64_t>(),
                             c["drop_last"].get<bool>());
    json found = json::array();
    for (std::uint64_t i = 0; i < ranges.size(); ++i) found.push_back({ranges[i].first, ranges[i].second});
    EXPECT_EQ(found, c["ranges"]) << c;
  }
}

}  // namespace
}  // namespace ratoon::torch_distributed_sampler_test
