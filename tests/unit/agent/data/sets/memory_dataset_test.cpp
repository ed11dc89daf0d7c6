#include <array>
#include <bit>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/concat_dataset.h>
#include <ratoon/memory_dataset.h>
#include <ratoon/subset_dataset.h>

#include "agent/src/data/sets/folder/content_digest.h"

namespace ratoon::memory_dataset_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// `count` samples from `first` on: the number, and a row of twice and three times it.
std::shared_ptr<MemoryDataset> numbers(std::int32_t first, std::int32_t count) {
  std::vector<std::int32_t> values;
  std::vector<float> rows;
  for (std::int32_t i = first; i < first + count; ++i) {
    values.push_back(i);
    rows.push_back(static_cast<float>(2 * i));
    rows.push_back(static_cast<float>(3 * i));
  }
  return MemoryDataset::of(
      {MemoryColumn("value", std::move(values)), MemoryColumn("row", std::move(rows), {2})});
}

std::vector<std::int32_t> values_of(const Dataset& set) {
  std::vector<std::int32_t> values;
  Sample sample;
  for (std::uint64_t id = 0; id < set.size(); ++id) {
    set.read(id, sample);
    EXPECT_EQ(sample.id(), id);
    values.push_back(sample.field(0).as<std::int32_t>());
    EXPECT_EQ(sample.field(1).as<double>(),
              (std::bit_cast<double>(std::array{2.0f * static_cast<float>(values.back()),
                                                3.0f * static_cast<float>(values.back())})));
  }
  return values;
}

TEST(MemoryDataset, GivesRowsOfNamedArrays) {
  const auto set = numbers(10, 3);
  EXPECT_EQ(set->size(), 3u);
  EXPECT_THAT(values_of(*set), ElementsAre(10, 11, 12));
  EXPECT_EQ(set->columns()[1].type, ElementType::kFloat32);
  EXPECT_THAT(*set->columns()[1].shape, ElementsAre(2u));
  Sample sample;
  EXPECT_THROW(set->read(3, sample), std::out_of_range);
  EXPECT_THAT([&] { static_cast<void>(set->column("rows")); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("value, row")));
}

TEST(MemoryDataset, ViewsAnArrayWithoutCopyingIt) {
  std::vector<std::uint8_t> pixels{1, 2, 3, 4};
  const MemoryDataset set({MemoryColumn::view("pixels", pixels, {2, 1})});
  Sample sample;
  set.read(1, sample);
  EXPECT_EQ(static_cast<const void*>(sample.field(0).bytes.data()), pixels.data() + 2);
}

TEST(MemoryDataset, ItsDigestIsOfNamesTypesShapesAndBytes) {
  const std::vector<std::uint8_t> pixels{1, 2, 3, 4};
  const std::vector<std::int8_t> signed_pixels{1, 2, 3, 4};
  const std::vector<std::uint8_t> others{1, 2, 3, 5};
  const auto digest = [](MemoryColumn column) { return MemoryDataset({std::move(column)}).digest(); };
  const std::string base = digest(MemoryColumn::view("x", pixels));
  EXPECT_THAT(base, testing::MatchesRegex("memory-1:[0-9a-f]{32}"));
  EXPECT_EQ(digest(MemoryColumn("x", pixels)), base) << "whoever owns the bytes";
  EXPECT_NE(digest(MemoryColumn::view("y", pixels)), base);
  EXPECT_NE(digest(MemoryColumn::view("x", signed_pixels)), base);
  EXPECT_NE(digest(MemoryColumn::view("x", pixels, {2})), base);
  EXPECT_NE(digest(MemoryColumn::view("x", pixels, {1})), base);
  EXPECT_NE(digest(MemoryColumn::view("x", others)), base);
}

TEST(MemoryDataset, ItsDigestTellsRowsFromColumns) {
  const auto digest = [](std::vector<std::uint64_t> shape) {
    return MemoryDataset::of({MemoryColumn("x", std::vector<float>(6), std::move(shape))})->digest();
  };
  EXPECT_NE(digest({2, 3}), digest({3, 2}));
  EXPECT_NE(digest({6}), digest({6, 1}));
}

TEST(ContentDigest, TellsWhereOneTextEndsAndTheNextBegins) {
  data::ContentDigest one("kind");
  data::ContentDigest other("kind");
  for (const char* text : {"ab", "c"}) one.add(std::string_view(text));
  for (const char* text : {"a", "bc"}) other.add(std::string_view(text));
  EXPECT_NE(one.text(), other.text());
}

TEST(MemoryDataset, ThreadsThatAskForTheDigestAtOnceGetTheSame) {
  const auto set = numbers(0, 1000);
  std::vector<std::string> digests(8);
  std::vector<std::thread> threads;
  for (std::string& digest : digests) threads.emplace_back([&] { digest = set->digest(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(digests, testing::Each(numbers(0, 1000)->digest()));
}

TEST(MemoryDataset, RefusesArraysThatDoNotFit) {
  const std::vector<float> five(5), six(6);
  const auto make = [](std::vector<MemoryColumn> columns) {
    return [columns] { MemoryDataset set(columns); };
  };
  EXPECT_THAT(make({}), ThrowsMessage<std::invalid_argument>(HasSubstr("at least one column")));
  EXPECT_THAT(
      make({MemoryColumn::view("x", five, {2})}),
      ThrowsMessage<std::invalid_argument>(HasSubstr("'x' has 20 bytes, which is not a whole number")));
  EXPECT_THAT(make({MemoryColumn::view("x", five), MemoryColumn::view("y", six)}),
              ThrowsMessage<std::invalid_argument>(HasSubstr("'y' has 6 samples, but column 'x' has 5")));
  EXPECT_THAT(make({MemoryColumn::view("x", five), MemoryColumn::view("x", five)}),
              ThrowsMessage<std::invalid_argument>(HasSubstr("two columns")));
  EXPECT_THAT(make({MemoryColumn::view("", five)}),
              ThrowsMessage<std::invalid_argument>(HasSubstr("no name")));
  EXPECT_THAT(make({MemoryColumn::view("x", five, {0})}),
              ThrowsMessage<std::invalid_argument>(HasSubstr("of 0 bytes")));
  EXPECT_THAT(make({MemoryColumn({.name = "x"}, {}, nullptr)}),
              ThrowsMessage<std::invalid_argument>(HasSubstr("no shape")));
}

// ---- parts of one data set, and several as one

// Sixteen numbers in shards of 4, 0, 5 and 7; the data set records the hints that it gets.
class Sharded : public Dataset {
 public:
  std::uint64_t size() const override { return 16; }
  std::span<const Column> columns() const override { return numbers_->columns(); }
  std::string digest() const override { return numbers_->digest(); }
  void read(std::uint64_t id, Sample& into) const override { numbers_->read(id, into); }
  std::vector<std::uint64_t> shard_sizes() const override { return {4, 0, 5, 7}; }
  void expect(std::span<const std::uint64_t> ids) const override { expected.assign(ids.begin(), ids.end()); }

  mutable std::vector<std::uint64_t> expected;

 private:
  std::shared_ptr<MemoryDataset> numbers_ = numbers(0, 16);
};

TEST(SubsetDataset, IsTheSamplesOfItsRanges) {
  const auto all = numbers(0, 10);
  const auto some = SubsetDataset::of(all, {{8, 10}, {3, 3}, {1, 4}, {4, 5}, {1, 2}});
  EXPECT_THAT(values_of(*some), ElementsAre(8, 9, 1, 2, 3, 4, 1));
  EXPECT_EQ(some->id_in_all(2), 1u);
  EXPECT_THROW(static_cast<void>(some->id_in_all(7)), std::out_of_range);
  EXPECT_EQ(SubsetDataset::of(all, {})->size(), 0u);
  EXPECT_THROW(SubsetDataset::of(all, {{3, 2}}), std::invalid_argument);
  EXPECT_THROW(SubsetDataset::of(all, {{3, 11}}), std::invalid_argument);
}

TEST(SubsetDataset, IsTheSamplesOfItsIds) {
  const auto all = numbers(0, 10);
  EXPECT_THAT(values_of(*SubsetDataset::of_ids(all, {5, 6, 7, 2, 2, 1, 9})),
              ElementsAre(5, 6, 7, 2, 2, 1, 9));
  EXPECT_THROW(SubsetDataset::of_ids(all, {10}), std::out_of_range);
}

TEST(SubsetDataset, ItsDigestIsOfTheWholeAndWhatIsInIt) {
  const auto all = numbers(0, 10);
  const std::string digest = SubsetDataset::of(all, {{1, 4}})->digest();
  EXPECT_EQ(SubsetDataset::of(all, {{1, 2}, {2, 2}, {2, 4}})->digest(), digest) << "the same samples";
  EXPECT_NE(SubsetDataset::of(all, {{1, 5}})->digest(), digest);
  EXPECT_NE(SubsetDataset::of(numbers(1, 10), {{1, 4}})->digest(), digest);
  EXPECT_NE(all->digest(), SubsetDataset::of(all, {{0, 10}})->digest());
}

TEST(SubsetDataset, CutsShardsAndHandsHintsDown) {
  const auto all = std::make_shared<Sharded>();
  const auto some = SubsetDataset::of(all, {{2, 5}, {9, 16}, {0, 9}});
  EXPECT_THAT(some->shard_sizes(), ElementsAre(2u, 1u, 7u, 4u, 5u));
  const std::uint64_t ids[] = {0, 3, 10};
  some->expect(ids);
  EXPECT_THAT(all->expected, ElementsAre(2u, 9u, 0u));
  EXPECT_TRUE(SubsetDataset::of(numbers(0, 3), {{0, 2}})->shard_sizes().empty());
}

TEST(ConcatDataset, IsOneAfterTheOther) {
  const auto both = ConcatDataset::of({numbers(0, 2), numbers(9, 0), numbers(7, 3)});
  EXPECT_THAT(values_of(*both), ElementsAre(0, 1, 7, 8, 9));
  Sample sample;
  EXPECT_THROW(both->read(5, sample), std::out_of_range);
  EXPECT_NE(both->digest(), ConcatDataset::of({numbers(7, 3), numbers(0, 2)})->digest());
  EXPECT_EQ(both->digest(), ConcatDataset::of({numbers(0, 2), numbers(9, 0), numbers(7, 3)})->digest());
}

TEST(ConcatDataset, KeepsShardsAndHandsHintsDown) {
  const auto first = std::make_shared<Sharded>();
  const auto last = std::make_shared<Sharded>();
  const auto joined = ConcatDataset::of({first, numbers(0, 3), last});
  EXPECT_THAT(joined->shard_sizes(), ElementsAre(4u, 0u, 5u, 7u, 3u, 4u, 0u, 5u, 7u));
  EXPECT_TRUE(ConcatDataset::of({numbers(0, 3)})->shard_sizes().empty());
  const std::uint64_t ids[] = {34, 1, 17, 20};
  joined->expect(ids);
  EXPECT_THAT(first->expected, ElementsAre(1u));
  EXPECT_THAT(last->expected, ElementsAre(15u, 1u));
}

TEST(ConcatDataset, NeedsTheSameTypes) {
  const auto one = MemoryDataset::of({MemoryColumn("x", std::vector<float>(2))});
  const auto other = MemoryDataset::of({MemoryColumn("x", std::vector<std::int32_t>(2))});
  EXPECT_THAT([&] { static_cast<void>(ConcatDataset::of({one, other})); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("one has x float32, another has x int32")));
}

TEST(ConcatDataset, NeedsTheSameColumns) {
  const std::vector<float> values(6);
  const auto pairs = MemoryDataset::of({MemoryColumn::view("x", values, {2})});
  const auto triples = MemoryDataset::of({MemoryColumn::view("x", values, {3})});
  const auto others = MemoryDataset::of({MemoryColumn::view("y", values, {2})});
  EXPECT_FALSE(ConcatDataset::of({pairs, triples})->columns()[0].shape) << "it varies";
  EXPECT_TRUE(ConcatDataset::of({pairs, pairs})->columns()[0].shape);
  EXPECT_THAT([&] { static_cast<void>(ConcatDataset::of({pairs, others})); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("one has x float32, another has y float32")));
  EXPECT_THROW(ConcatDataset::of({}), std::invalid_argument);
}

}  // namespace
}  // namespace ratoon::memory_dataset_test
