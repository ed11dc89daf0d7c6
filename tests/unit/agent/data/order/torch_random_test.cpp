#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/torch_random.h>

#include "agent/src/data/order/torch/torch_randperm.h"
#include "base/core/hex.h"
#include "tests/unit/agent/data/golden/torch_vectors.h"

namespace ratoon::torch_random_test {
namespace {

using test::Ids;
using test::torch_vectors;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

Ids ids_of(const IndexList& list, std::uint64_t count) {
  Ids ids;
  for (std::uint64_t place = 0; place < std::min(count, list.size()); ++place) ids.push_back(list[place]);
  return ids;
}

std::uint64_t digest_of(const IndexList& list) {
  std::uint64_t digest = test::kDigestStart;
  for (std::uint64_t place = 0; place < list.size(); ++place)
    digest = test::digest_of(std::array{list[place]}, digest);
  return digest;
}

// torch.empty((), dtype=torch.int64).random_(), which does not change the generator, because it is a copy.
std::uint64_t next_of(TorchGenerator generator) {
  return generator.draw_seed();
}

TEST(TorchGenerator, GivesTheNumbersOfMt19937) {
  for (const std::uint64_t seed : {0U, 1U, 5489U, 0xffffffffU}) {
    TorchGenerator ours(seed);
    std::mt19937 reference(static_cast<std::uint32_t>(seed));
    for (int i = 0; i < 2000; ++i)
      ASSERT_EQ(ours.random(), reference()) << "number " << i << " of seed " << seed;
  }
}

TEST(TorchGenerator, OnlyTheLowHalfOfItsSeedCounts) {
  EXPECT_TRUE(TorchGenerator(42) == TorchGenerator((std::uint64_t{1} << 32) + 42));
  EXPECT_FALSE(TorchGenerator(42) == TorchGenerator(43));
  EXPECT_TRUE(TorchGenerator(static_cast<std::uint64_t>(-1)) == TorchGenerator(0xffffffff));
}

TEST(TorchGenerator, TakesTheHighHalfOf64BitsFirst) {
  TorchGenerator one(7);
  TorchGenerator other(7);
  const std::uint64_t high = one.random();
  const std::uint64_t low = one.random();
  EXPECT_EQ(other.random64(), high << 32 | low);
}

TEST(TorchGenerator, FillsAndDiscardsAsIfOneByOne) {
  for (const std::uint32_t count : {0U, 1U, 100U, 623U, 624U, 625U, 3000U}) {
    TorchGenerator one_by_one(3);
    TorchGenerator filling(3);
    TorchGenerator discarding(3);
    std::vector<std::uint32_t> numbers(count);
    filling.fill(numbers);
    for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(numbers[i], one_by_one.random()) << i;
    discarding.discard(count);
    EXPECT_EQ(next_of(filling), next_of(one_by_one)) << count;
    EXPECT_EQ(next_of(discarding), next_of(one_by_one)) << count;
  }
}

TEST(TorchGenerator, ReadsAndWritesTheBytesOfGetState) {
  for (const auto& c : torch_vectors("generator_states")) {
    const std::string theirs = *from_hex(c["state"].get<std::string>());
    TorchGenerator ours(c["seed"].get<std::uint64_t>());
    ours.discard(c["numbers"].get<std::uint64_t>());
    EXPECT_TRUE(ours.state() == theirs) << c["numbers"];
    EXPECT_TRUE(TorchGenerator::from_state(theirs).state() == theirs) << c["numbers"];
    EXPECT_EQ(next_of(TorchGenerator::from_state(theirs)), c["next"].get<std::uint64_t>());
  }
}

TEST(TorchGenerator, RefusesWhatIsNoState) {
  const auto with = [](std::size_t at, char byte) {
    std::string state = TorchGenerator(1).state();
    state[at] = byte;
    return state;
  };
  const struct {
    std::string state;
    const char* sentence;
  } cases[] = {{"", "expected 5056 bytes, found 0"}, {std::string(5055, 'x'), "bytes, found 5055"},
               {with(12, 0), "was never seeded"},    {with(8, 9), "is at word 0 of 624 with 9 left"},
               {with(17, 3), "is at word 768"},      {with(28, 1), "word 0, but a word has 32 bits"}};
  for (const auto& c : cases) {
    try {
      static_cast<void>(TorchGenerator::from_state(c.state));
      FAIL() << c.sentence;
    } catch (const Failure& failure) {
      EXPECT_THAT(failure.what(), HasSubstr(c.sentence));
      EXPECT_EQ(failure.exit_code, 82);
    }
  }
}

TEST(TorchRandperm, IsThatOfPyTorch) {
  ASSERT_GT(torch_vectors("randperm").size(), 250U);
  for (const auto& c : torch_vectors("randperm")) {
    for (const TorchRelease release : {TorchRelease::kSince2_6, TorchRelease::kBefore2_6}) {
      TorchGenerator generator(c["seed"].get<std::uint64_t>());
      const IndexList order = torch_randperm(c["size"].get<std::uint64_t>(), generator, release);
      ASSERT_THAT(ids_of(order, 10), ElementsAreArray(c["first"].get<Ids>()))
          << c["size"] << " " << c["seed"];
      ASSERT_EQ(digest_of(order), c["digest"].get<std::uint64_t>()) << c["size"] << " " << c["seed"];
      ASSERT_EQ(next_of(generator), c["next"].get<std::uint64_t>()) << "numbers drawn for " << c["size"];
    }
  }
}

struct LargeCase {
  std::uint64_t size;
  std::uint64_t seed;
  Ids first;
  std::uint64_t digest;
};

// The values of LibTorch 2.11.0, from the specification.
TEST(TorchRandperm, IsThatOfLibTorchInLargeLists) {
  const LargeCase cases[] = {
      {100000, 7, {41615, 23657, 92717, 16389, 28607, 45432, 45737, 59262, 69052, 23840}, 0x9e6fb74cf5994ce5},
      {1000000,
       1234,
       {569775, 451309, 942150, 599904, 33840, 13714, 109676, 988816, 997375, 581802},
       0xb3980b56c397e8bf},
      {10000000,
       0,
       {7136044, 6248494, 1715549, 6094849, 8849999, 4850224, 256837, 8921051, 9584953, 8188095},
       0x6a796b08fab5f131}};
  for (const auto& c : cases) {
    TorchGenerator generator(c.seed);
    const IndexList order = torch_randperm(c.size, generator);
    EXPECT_THAT(ids_of(order, 10), ElementsAreArray(c.first)) << c.size;
    EXPECT_EQ(digest_of(order), c.digest) << c.size;
    EXPECT_EQ(order.bytes(), 4 * c.size);
  }
}

TEST(TorchRandperm, SmallOnesOfTheSpecification) {
  const auto order = [](std::uint64_t size, std::uint64_t seed) {
    TorchGenerator generator(seed);
    return ids_of(torch_randperm(size, generator), size);
  };
  EXPECT_THAT(order(10, 0), ElementsAre(4, 1, 7, 5, 3, 9, 0, 8, 6, 2));
  EXPECT_THAT(order(10, 42), ElementsAre(2, 6, 1, 8, 4, 5, 0, 9, 3, 7));
  EXPECT_THAT(order(6, 9), ElementsAre(4, 0, 1, 5, 2, 3));
  EXPECT_TRUE(order(0, 0).empty());
}

// Lists above 2^32 take eight bytes a number. Both widths use one algorithm.
TEST(TorchRandperm, IsTheSameInEightBytes) {
  for (const std::uint64_t size : {0U, 1U, 2U, 127U, 128U, 129U, 1000U}) {
    std::vector<std::uint32_t> narrow(size);
    std::vector<std::uint64_t> wide(size);
    TorchGenerator one(5);
    TorchGenerator other(5);
    data::fill_randperm(std::span(narrow), one, TorchRelease::kSince2_6);
    data::fill_randperm(std::span(wide), other, TorchRelease::kSince2_6);
    EXPECT_TRUE(std::equal(narrow.begin(), narrow.end(), wide.begin())) << size;
    EXPECT_TRUE(one == other);
  }
}

// Lists that PyTorch itself orders in this way take gigabytes and belong to the nightly test: here the
// algorithm is compared with its textbook form over the standard library's generator.
TEST(TorchRandperm, InsideOutIsTheTextbooks) {
  for (const std::uint32_t size : {0U, 1U, 2U, 127U, 128U, 129U, 256U, 257U, 1000U}) {
    std::mt19937 reference(11);
    std::vector<std::uint64_t> expected;
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t high = reference();
      const std::uint64_t place = (high << 32 | reference()) % (i + 1);
      expected.push_back(i);
      std::swap(expected[place], expected.back());
    }
    std::vector<std::uint32_t> narrow(size);
    std::vector<std::uint64_t> wide(size);
    TorchGenerator one(11);
    TorchGenerator other(11);
    data::fill_by_inside_out_shuffle(std::span(narrow), one);
    data::fill_by_inside_out_shuffle(std::span(wide), other);
    EXPECT_EQ(wide, expected) << size;
    EXPECT_THAT(narrow, ElementsAreArray(expected)) << size;
    EXPECT_TRUE(one == other);
    EXPECT_EQ(one.random(), reference()) << "numbers drawn for " << size;
  }
}

TEST(TorchRandperm, SaysHowManyNumbersItTakes) {
  EXPECT_EQ(data::random_numbers_of_randperm(0, TorchRelease::kSince2_6), 0U);
  EXPECT_EQ(data::random_numbers_of_randperm(1, TorchRelease::kSince2_6), 0U);
  EXPECT_EQ(data::random_numbers_of_randperm(214748363, TorchRelease::kSince2_6), 214748362U);
  EXPECT_EQ(data::random_numbers_of_randperm(214748364, TorchRelease::kSince2_6), 429496728U);
  EXPECT_EQ(data::random_numbers_of_randperm(214748364, TorchRelease::kBefore2_6), 214748363U);
}

}  // namespace
}  // namespace ratoon::torch_random_test
