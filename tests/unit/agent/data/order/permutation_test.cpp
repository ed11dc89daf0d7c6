#include <algorithm>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/permutation.h>

namespace ratoon::permutation_test {
namespace {

using testing::ElementsAre;

std::vector<std::uint64_t> all_of(const Permutation& order) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t place = 0; place < order.size(); ++place) values.push_back(order(place));
  return values;
}

// Frozen values: saved runs depend on them. Computed by a separate program written from the description of
// the order.
TEST(PermutationVectors, Keys) {
  EXPECT_EQ(permutation_key(17, "digits", 3), 0x6267167eb1de1a01u);
  EXPECT_EQ(permutation_key(0, "", 0), 0x2a722a434f155ddfu);
}

TEST(PermutationVectors, Ten) {
  EXPECT_THAT(all_of(Permutation(10, permutation_key(0, "", 0))), ElementsAre(1, 0, 3, 4, 9, 6, 7, 2, 5, 8));
  EXPECT_THAT(all_of(Permutation(10, permutation_key(0, "", 1))), ElementsAre(3, 8, 9, 0, 2, 1, 5, 4, 7, 6));
}

TEST(PermutationVectors, AnySize) {
  const struct {
    std::uint64_t size;
    std::uint64_t key;
    std::vector<std::uint64_t> values;  // at 0, 1, 2, 3, the middle and the end
  } vectors[] = {
      {60000, permutation_key(17, "digits", 3), {18757, 4596, 53755, 17680, 28595, 27163}},
      {65536, permutation_key(1, "x", 0), {5350, 44945, 23777, 43251, 61330, 62389}},
      {1000003, permutation_key(7, "web", 2), {858731, 398325, 366562, 539581, 931823, 437893}},
      {1000000000,
       permutation_key(7, "web", 2),
       {11494143, 396898643, 93852650, 971969677, 783052427, 369500662}},
      {Permutation::kSizeMax,
       permutation_key(42, "all", 9),
       {3223632646306681424, 679746288743301958, 3789627456165396815, 2508873153451272341,
        2913511802584939903, 4539877410079533696}},
  };
  for (const auto& vector : vectors) {
    const Permutation order(vector.size, vector.key);
    const std::uint64_t places[] = {0, 1, 2, 3, vector.size / 2, vector.size - 1};
    for (std::size_t i = 0; i < vector.values.size(); ++i) {
      EXPECT_EQ(order(places[i]), vector.values[i]) << "size " << vector.size << " place " << places[i];
      EXPECT_EQ(order.inverse(vector.values[i]), places[i]);
    }
  }
}

TEST(Permutation, EverySmallSizeIsABijection) {
  for (std::uint64_t size = 1; size <= 600; ++size) {
    for (std::uint64_t key = 0; key < 3; ++key) {
      const Permutation order(size, key);
      std::vector<bool> seen(size, false);
      for (std::uint64_t place = 0; place < size; ++place) {
        const std::uint64_t value = order(place);
        ASSERT_LT(value, size);
        ASSERT_FALSE(seen[value]) << "size " << size << " key " << key << " value " << value;
        seen[value] = true;
        ASSERT_EQ(order.inverse(value), place) << "size " << size << " key " << key;
      }
    }
  }
}

// Sizes around the number that is computed at once, and around the size at which the number of rounds
// changes.
TEST(Permutation, InBulkItGivesTheSameNumbers) {
  for (const std::uint64_t size : {1u, 2u, 3u, 7u, 8u, 9u, 100u, 65535u, 65536u, 65537u, 1000003u}) {
    const Permutation order(size, permutation_key(3, "bulk", size));
    for (const std::uint64_t start : {std::uint64_t{0}, size / 3, size - 1}) {
      const std::uint64_t count = std::min<std::uint64_t>(size - start, 1000);
      std::vector<std::uint64_t> filled(count);
      order.fill(start, filled);
      std::vector<std::uint64_t> mapped(count);
      for (std::uint64_t i = 0; i < count; ++i) mapped[i] = start + count - 1 - i;
      order.map(mapped);
      for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(filled[i], order(start + i)) << "size " << size;
        ASSERT_EQ(mapped[count - 1 - i], filled[i]) << "size " << size;
      }
    }
  }
}

TEST(Permutation, RefusesWhatItCannotOrder) {
  EXPECT_THROW(Permutation(0, 1), std::invalid_argument);
  EXPECT_THROW(Permutation(Permutation::kSizeMax + 1, 1), std::invalid_argument);
  const Permutation order(10, 1);
  EXPECT_THROW(static_cast<void>(order(10)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(order.inverse(10)), std::out_of_range);
  std::vector<std::uint64_t> values(3);
  EXPECT_THROW(order.fill(8, values), std::out_of_range);
  EXPECT_THROW(order.fill(10, values), std::out_of_range);
  values[1] = 10;
  EXPECT_THROW(order.map(values), std::out_of_range);
}

}  // namespace
}  // namespace ratoon::permutation_test
