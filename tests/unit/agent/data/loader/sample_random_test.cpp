#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/sample_random.h>

namespace ratoon {
namespace {

using testing::ElementsAre;

std::vector<std::uint64_t> draws(std::uint64_t seed, std::string_view purpose, std::string_view source,
                                 std::uint64_t epoch, std::uint64_t sample) {
  SampleRandom random = sample_random(sample_random_key(seed, purpose, source), epoch, sample);
  return {random.next_u64(), random.next_u64(), random.next_u64()};
}

// From golden/sample_random.py. Frozen: another number is another augmentation of a run that is resumed.
TEST(SampleRandomVectors, OfASeparateProgram) {
  EXPECT_THAT(draws(17, "augment", "digits", 0, 0),
              ElementsAre(0xc3bcc6ec15f35d32, 0xe45be6c902b884a6, 0xfeb1e7c1560c5fa2));
  EXPECT_THAT(draws(17, "augment", "digits", 3, 59999),
              ElementsAre(0x8b1289127040a896, 0x1ee21d3581688419, 0x00a707be4edcf0f1));
  EXPECT_THAT(draws(17, "val", "digits", 3, 59999),
              ElementsAre(0x1106dbe093810df6, 0xf5599c97158b06ed, 0xfbb7fac09a11931c));
  EXPECT_THAT(draws(17, "augment", "web", 3, 59999),
              ElementsAre(0xd7467dac4b4f08c1, 0xb830ecebe074d525, 0x88bd30732e5b75bf));
  EXPECT_THAT(draws(~std::uint64_t{0}, "augment", "", (std::uint64_t{1} << 32) + 1, std::uint64_t{1} << 61),
              ElementsAre(0x6e24887b4e9543ab, 0xd2762960786f54cd, 0xc6c2006b2170fde0));
}

TEST(SampleRandom, NeighboursShareNothing) {
  const auto base = draws(1, "augment", "s", 1, 1);
  EXPECT_NE(draws(2, "augment", "s", 0, 1), base) << "seed and epoch are not added";
  EXPECT_NE(draws(1, "augment", "s", 1, 2), base);
  EXPECT_NE(draws(1, "augment", "s", 2, 1), base);
  EXPECT_NE(draws(1, "augment", "s", 1 + (std::uint64_t{1} << 32), 1), base);
  EXPECT_NE(draws(1, "augments", "", 1, 1), base) << "texts are not joined";
}

}  // namespace
}  // namespace ratoon
