#include "agent/src/data/order/mixture.h"

#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/stream.h>

namespace ratoon::mixture_test {
namespace {

using data::kMixtureBlockSlots;
using data::weights_to_draw_counts;
using testing::ElementsAre;

StreamOptions three() {
  return {.global_batch = 64,
          .seed = 3,
          .sources = {{.name = "web", .samples = 1'000'000, .weight = 5},
                      {.name = "books", .samples = 300, .weight = 3},
                      {.name = "code", .samples = 70'000, .weight = 2}}};
}

std::vector<Slot> slots_of(const Stream& stream, std::uint64_t first, std::uint64_t count) {
  std::vector<Slot> slots(count);
  stream.reader().fill(first, slots);
  return slots;
}

TEST(Weights, BecomeWholeSharesThatSumToABlock) {
  const auto shares = [](std::vector<double> weights) { return weights_to_draw_counts(weights); };
  EXPECT_THAT(shares({1}), ElementsAre(65536));
  EXPECT_THAT(shares({0.3}), ElementsAre(65536));
  EXPECT_THAT(shares({1, 1}), ElementsAre(32768, 32768));
  EXPECT_THAT(shares({1, 1, 1}), ElementsAre(21846, 21845, 21845)) << "the first of equals gets what is left";
  EXPECT_THAT(shares({5, 3, 2}), ElementsAre(32768, 19661, 13107));
  EXPECT_THAT(shares({0, 7}), ElementsAre(0, 65536));
  EXPECT_THAT(shares({1e-9, 1, 1e-30}), ElementsAre(1, 65534, 1)) << "rare is not never";
  EXPECT_THAT(shares({1e-308, 1e308}), ElementsAre(1, 65535));
  std::uint64_t sum = 0;
  for (const std::uint32_t share : shares(std::vector<double>(4096, 0.1))) sum += share;
  EXPECT_EQ(sum, kMixtureBlockSlots);
}

TEST(Weights, ThatAreNoneAreRefused) {
  for (const std::vector<double>& weights :
       std::vector<std::vector<double>>{{},
                                        {0, 0},
                                        {1, -1},
                                        {std::numeric_limits<double>::quiet_NaN()},
                                        {std::numeric_limits<double>::infinity()}})
    EXPECT_THROW(static_cast<void>(weights_to_draw_counts(weights)), std::invalid_argument);
}

TEST(Mixture, EveryBlockHasTheExactRatios) {
  const Stream stream(three());
  for (const std::uint64_t block : {0u, 1u, 1000u}) {
    std::map<std::uint32_t, std::uint64_t> drawn;
    for (const Slot& slot : slots_of(stream, block * kMixtureBlockSlots, kMixtureBlockSlots))
      ++drawn[slot.source];
    EXPECT_THAT(drawn, ElementsAre(std::pair(0u, 32768u), std::pair(1u, 19661u), std::pair(2u, 13107u)));
  }
}

// Books have 300 samples and 19,661 draws a block: 65 epochs and a bit, every one of them whole.
TEST(Mixture, EachSourceGoesThroughItsEpochsInItsOwnOrder) {
  const Stream stream(three());
  std::map<std::uint32_t, std::vector<Slot>> drawn;
  for (const Slot& slot : slots_of(stream, 0, 2 * kMixtureBlockSlots + 1000))
    drawn[slot.source].push_back(slot);
  const std::vector<Source> sources = three().sources;
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    const Stream alone(
        {.samples = sources[i].samples, .global_batch = 1, .seed = 3, .source = sources[i].name});
    for (std::size_t count = 0; count < drawn[i].size(); ++count) {
      const Slot expected = alone.at(count);
      ASSERT_EQ(drawn[i][count].sample, expected.sample) << "source " << i << " draw " << count;
      ASSERT_EQ(drawn[i][count].epoch, expected.epoch);
    }
  }
}

TEST(Mixture, OneByOneInBulkAndBackAreTheSame) {
  const Stream stream(three());
  for (const std::uint64_t first :
       {std::uint64_t{0}, kMixtureBlockSlots - 700, 500 * kMixtureBlockSlots + 1}) {
    for (const Slot& slot : slots_of(stream, first, 1500)) {
      ASSERT_EQ(stream.at(slot.number), slot);
    }
    for (const Slot& slot : slots_of(stream, first, 10))
      ASSERT_EQ(stream.reader().slot_of(slot.source, slot.epoch, slot.sample), slot.number);
  }
}

TEST(Mixture, WithOneWeightItIsThatSourceAlone) {
  StreamOptions options = three();
  options.sources[0].weight = 0;
  options.sources[2].weight = 0;
  const Stream mixture(options);
  const Stream alone({.samples = 300, .global_batch = 64, .seed = 3, .source = "books"});
  for (std::uint64_t number = 0; number < 1000; ++number) {
    ASSERT_EQ(mixture.at(number).source, 1u);
    ASSERT_EQ(mixture.at(number).sample, alone.at(number).sample);
    ASSERT_EQ(mixture.at(number).epoch, alone.at(number).epoch);
  }
  EXPECT_EQ(mixture.reader().slot_of(0, 0, 5), std::nullopt) << "never drawn";
}

TEST(Mixture, ASourceOfOneSampleIsAnEpochADraw) {
  StreamOptions options = three();
  options.sources[1].samples = 1;
  const Stream stream(options);
  std::uint64_t epoch = 0;
  for (const Slot& slot : slots_of(stream, 0, 3000)) {
    if (slot.source != 1) continue;
    ASSERT_EQ(slot.sample, 0u);
    ASSERT_EQ(slot.epoch, epoch++);
  }
  EXPECT_GT(epoch, 800u);
}

TEST(Mixture, NoTwoBlocksAndNoTwoSeedsMixAlike) {
  const auto sources = [](const Stream& stream, std::uint64_t first) {
    std::vector<std::uint32_t> of;
    for (const Slot& slot : slots_of(stream, first, 64)) of.push_back(slot.source);
    return of;
  };
  StreamOptions options = three();
  const Stream stream(options);
  options.seed = 4;
  EXPECT_NE(sources(stream, 0), sources(stream, kMixtureBlockSlots));
  EXPECT_NE(sources(stream, 0), sources(Stream(options), 0));
}

TEST(Mixture, AccountsAreExact) {
  Stream stream(three());
  stream.advance(2500);
  std::vector<std::uint64_t> drawn(3);
  for (const Slot& slot : slots_of(stream, 0, stream.cursor())) ++drawn[slot.source];
  const std::vector<SourceAccount> accounts = stream.accounts();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(accounts[i].drawn, drawn[i]);
    EXPECT_EQ(accounts[i].epochs * three().sources[i].samples + accounts[i].rest, drawn[i]);
    EXPECT_EQ(accounts[i].skipped, 0u);
  }
}

// From the change on every block has the new ratios, and no source repeats or loses a sample over it.
TEST(Mixture, WeightsMayChangeAnywhere) {
  Stream stream(three());
  stream.advance(3);
  const double only_two[] = {0, 1, 3};
  stream.change_weights(only_two);
  stream.advance(1100);
  const double all[] = {1, 1, 1};
  stream.change_weights(all);
  stream.advance(2000);
  EXPECT_THAT(stream.weights(), ElementsAre(21846, 21845, 21845));

  std::vector<std::uint64_t> counts(3);
  for (std::uint64_t k = 0; k < stream.batches(); ++k) {
    const SlotRange batch = stream.reader().batch(k);
    for (const Slot& slot : slots_of(stream, batch.first, batch.size())) {
      const std::uint64_t samples = three().sources[slot.source].samples;
      ASSERT_EQ(slot.epoch, counts[slot.source] / samples);
      const Stream alone(
          {.samples = samples, .global_batch = 1, .seed = 3, .source = three().sources[slot.source].name});
      ASSERT_EQ(slot.sample, alone.at(counts[slot.source]++).sample);
      ASSERT_TRUE(slot.source != 0 || k < 3 || k >= 1103);
    }
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(stream.accounts()[i].drawn, counts[i]);
}

TEST(Mixture, TheSlotOfASampleIsFoundOverChangesOfWeights) {
  Stream stream(three());
  stream.advance(3);
  const double without_web[] = {0, 1, 3};
  stream.change_weights(without_web);
  stream.advance(3);
  const double again[] = {1, 1, 1};
  stream.change_weights(again);
  for (const Slot& slot : slots_of(stream, 0, 64 * 9))
    ASSERT_EQ(stream.reader().slot_of(slot.source, slot.epoch, slot.sample), slot.number);
}

TEST(Mixture, WeightsThatWereChangedFirstHoldWhereARunBeginsLater) {
  Stream stream(three());
  const double only_books[] = {0, 1, 0};
  stream.change_weights(only_books);
  stream.begin_at(1000, 10);
  for (const Slot& slot : stream.take(0, 1)) EXPECT_EQ(slot.source, 1u);
  Stream again(three());
  again.load_state(stream.save_state());
  EXPECT_EQ(again.save_state(), stream.save_state());
  EXPECT_EQ(again.take(0, 1), stream.take(0, 1));
}

TEST(Mixture, RefusesSourcesThatMakeNone) {
  StreamOptions options = three();
  options.sources[1].name = "web";
  EXPECT_THROW(Stream{options}, std::invalid_argument) << "one name twice";
  options = three();
  options.epoch_end = EpochEnd::kShort;
  EXPECT_THROW(Stream{options}, std::invalid_argument);
  options = three();
  options.samples = 5;
  EXPECT_THROW(Stream{options}, std::invalid_argument) << "two ways to say it";
  options = three();
  options.sources[0].samples = 0;
  EXPECT_THROW(Stream{options}, std::invalid_argument);
  Stream stream(three());
  EXPECT_THROW(stream.change_weights(std::vector<double>{1, 2}), std::invalid_argument);
}

}  // namespace
}  // namespace ratoon::mixture_test
