#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ratoon/counter_random.h>

namespace ratoon::philox_test {
namespace {

static_assert(std::uniform_random_bit_generator<CounterRandom>);

// The three "philox4x32 10" lines of Random123's tests/kat_vectors: counter and key of zeros, of ones, of
// pi's digits.
static_assert(philox4x32({0, 0}, {0, 0, 0, 0}) ==
              PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox4x32({~0u, ~0u}, {~0u, ~0u, ~0u, ~0u}) ==
              PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(philox4x32({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
              PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

// The first outputs of Vigna's splitmix64.c from state 0, whose state grows by the golden ratio.
static_assert(splitmix64(0) == 0xe220a8397b1dcdaf);
static_assert(splitmix64(0x9E3779B97F4A7C15) == 0x6e789e6aa1b965f4);

TEST(Hash64, TellsSeedsAndPurposesApart) {
  std::set<std::uint64_t> hashes;
  for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
    for (const char* purpose : {"", "a", "b", "ab", "12345678", "123456789", "1234567812345678"}) {
      hashes.insert(hash64(seed, purpose));
    }
  }
  EXPECT_EQ(hashes.size(), 28u);
  EXPECT_NE(hash64(0, "a"), hash64(0, std::string_view("a\0", 2))) << "padding is not text";
}

// These draws decide which samples a run sees: a change breaks the resume of every existing run.
TEST(CounterRandom, GoldenValues) {
  EXPECT_EQ(hash64(42, "augment"), 0xad2419e5a088fe09u);
  CounterRandom random(42, "augment", 0x1122334455667788, 9);
  EXPECT_EQ(random.next_u32(), 0xdb803361u);
  EXPECT_EQ(random.next_u64(), 0xb2606b250343a3f2u) << "from the middle of a block";
  EXPECT_EQ(random.below(1000), 469u);
  EXPECT_EQ(random.unit_double(), 0x1.0db0e125c48a2p-1);
}

TEST(CounterRandom, FollowsTheWordOrderOfTheDataDesign) {
  const std::uint64_t key = hash64(7, "mix");
  const PhiloxKey words = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
  CounterRandom random(7, "mix", 0x0000000500000004, 6);
  for (const std::uint32_t block_number : {0u, 1u, 2u}) {
    for (const std::uint32_t word : philox4x32(words, {4, 5, 6, block_number}))
      EXPECT_EQ(random.next_u32(), word);
  }
  CounterRandom same(7, "mix", 0x0000000500000004, 6);
  const PhiloxBlock first = philox4x32(words, {4, 5, 6, 0});
  EXPECT_EQ(same(), first[0] | std::uint64_t{first[1]} << 32) << "the low word comes first";
}

TEST(CounterRandom, StreamsAreApart) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed : {1u, 2u}) {
    for (const char* purpose : {"a", "b"}) {
      for (std::uint64_t stream : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
        for (std::uint32_t substream : {0u, 1u})
          firsts.insert(CounterRandom(seed, purpose, stream, substream)());
      }
    }
  }
  EXPECT_EQ(firsts.size(), 24u);
}

TEST(CounterRandom, SeeksToAnyWord) {
  CounterRandom all(1, "seek");
  std::vector<std::uint32_t> words(64);
  std::generate(words.begin(), words.end(), [&] { return all.next_u32(); });
  CounterRandom jumping(1, "seek");
  for (const std::size_t position : {63u, 0u, 5u, 6u, 4u, 33u}) {
    jumping.seek(position);
    EXPECT_EQ(jumping.next_u32(), words[position]) << position;
    EXPECT_EQ(jumping.position(), position + 1);
  }
}

TEST(CounterRandomDeathTest, EndsRatherThanRepeats) {
  CounterRandom random(1, "end");
  random.seek((std::uint64_t{4} << 32) - 1);
  (void)random.next_u32();
  EXPECT_DEATH((void)random.next_u32(), "");
  EXPECT_DEATH((void)CounterRandom(1, "zero").below(0), "");
}

// With n = 3 * 2^62 four draws fall on three values: without rejection every third value comes twice as
// often.
TEST(CounterRandom, BelowHasNoBias) {
  constexpr std::uint64_t kN = std::uint64_t{3} << 62;
  constexpr int kDraws = 30'000;
  CounterRandom random(5, "bias");
  std::array<int, 3> counts{};
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t drawn = random.below(kN);
    ASSERT_LT(drawn, kN);
    ++counts.at(drawn % 3);
  }
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 3, 400) << "five standard deviations";
}

TEST(CounterRandom, UnitDoubleFillsTheUnitInterval) {
  CounterRandom random(5, "unit");
  double sum = 0;
  double smallest = 1;
  double largest = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.unit_double();
    sum += x;
    smallest = std::min(smallest, x);
    largest = std::max(largest, x);
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);
  EXPECT_GE(smallest, 0.0);
  EXPECT_LT(smallest, 0.001);
  EXPECT_GT(largest, 0.999);
  EXPECT_LT(largest, 1.0);
}

// Pearson's statistic over the bytes of the stream: 255 degrees of freedom, so 6 sigma is about 255 + 6
// * 22.6.
TEST(CounterRandom, BytesAreUniform) {
  CounterRandom random(99, "bytes");
  std::array<int, 256> counts{};
  constexpr int kWords = 65'536;
  for (int i = 0; i < kWords; ++i) {
    const std::uint32_t word = random.next_u32();
    for (int shift = 0; shift < 32; shift += 8) ++counts.at(word >> shift & 0xFF);
  }
  double statistic = 0;
  for (const int count : counts) statistic += (count - 1024.0) * (count - 1024.0) / 1024.0;
  EXPECT_LT(statistic, 391.0);
  EXPECT_GT(statistic, 119.0);
}

}  // namespace
}  // namespace ratoon::philox_test
