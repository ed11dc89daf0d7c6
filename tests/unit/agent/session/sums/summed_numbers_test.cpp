#include "agent/src/session/sums/summed_numbers.h"

#include <array>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::session::summed_numbers_test {
namespace {

using testing::HasSubstr;

// Rank 0 has the first row, rank 1 the second one, and so on. Returns the refusal, and the sums in the first
// row.
template <class Number>
std::string add_up(std::vector<std::vector<Number>>& of_ranks) {
  NumberSums sums("sum()", std::span(of_ranks.front()));
  for (std::size_t rank = 1; rank < of_ranks.size(); ++rank)
    sums.add(static_cast<std::uint32_t>(rank), encode_call("sum()", std::span(of_ranks[rank])));
  return sums.finish();
}

TEST(SummedNumbers, IntegersAreExactWhereDoublesAreNot) {
  std::vector<std::vector<std::int64_t>> of_ranks{{(1LL << 53) + 1, -5}, {2, 3}, {0, 1}};
  EXPECT_EQ(add_up(of_ranks), "");
  EXPECT_EQ(of_ranks[0], (std::vector<std::int64_t>{(1LL << 53) + 3, -1}));
  std::vector<std::vector<std::uint64_t>> large{{1ULL << 63}, {(1ULL << 63) - 1}};
  EXPECT_EQ(add_up(large), "");
  EXPECT_EQ(large[0][0], std::numeric_limits<std::uint64_t>::max());
}

// Only the sum over all ranks counts, not the sums on the way to it.
TEST(SummedNumbers, ASumThatDoesNotFitIsRefusedAndChangesNothing) {
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  std::vector<std::vector<std::int32_t>> fits{{kMost}, {1}, {-1}};
  EXPECT_EQ(add_up(fits), "");
  EXPECT_EQ(fits[0][0], kMost);
  std::vector<std::vector<std::int32_t>> over{{7, kMost}, {1, 1}};
  EXPECT_EQ(add_up(over),
            "sum(): the sum over all ranks of number 1 of 2 (counted from 0) is above the greatest "
            "std::int32_t: sum numbers of a larger type, such as std::int64_t");
  EXPECT_EQ(over[0], (std::vector<std::int32_t>{7, kMost}));
  std::vector<std::vector<std::int64_t>> under{{std::numeric_limits<std::int64_t>::min()}, {-1}};
  EXPECT_THAT(add_up(under),
              HasSubstr("is below the least std::int64_t: sum numbers of a larger type, such as "
                        "double"));
  std::vector<std::vector<std::uint64_t>> many{{1}, {std::numeric_limits<std::uint64_t>::max()}};
  EXPECT_THAT(add_up(many), HasSubstr("above the greatest std::uint64_t"));
}

TEST(SummedNumbers, FloatsAreRoundedOnce) {
  std::vector<std::vector<float>> of_ranks{{16777216.0F}, {1.0F}, {1.0F}};
  EXPECT_EQ(add_up(of_ranks), "");
  EXPECT_EQ(of_ranks[0][0], 16777218.0F) << "added as floats, each 1 would be lost";
}

TEST(SummedNumbers, RanksThatDifferAreNamedWithBothSides) {
  std::array<double, 2> own{1, 2};
  std::array<float, 2> floats{1, 2};
  std::array<double, 1> fewer{1};
  NumberSums sums("sum()", std::span<double>(own));
  sums.add(1, encode_call("sum()", std::span<float>(floats)));
  sums.add(2, encode_call("sum()", std::span<double>(own)));
  sums.add(3, encode_call("sum()", std::span<double>(fewer)));
  sums.add(4, encode_call("sum()", std::span<float>(floats)));
  EXPECT_EQ(sums.finish(),
            "sum() was called with 2 numbers of type double on rank 0 and with 2 numbers of type float on "
            "ranks 1 and 4: pass equally many numbers of one type on all ranks");
  EXPECT_EQ(own, (std::array<double, 2>{1, 2}));

  NumberSums counts("sum()", std::span<double>(own));
  counts.add(1, encode_call("sum()", std::span<double>(fewer)));
  EXPECT_THAT(
      counts.finish(),
      HasSubstr("with 2 numbers of type double on rank 0 and with 1 number of type double on rank 1"));

  NumberSums calls("sum()", std::span<double>(own));
  calls.add(1, encode_call("mean(\"loss\")", std::span<double>(own)));
  calls.add(2, encode_call("mean(\"loss\")", std::span<double>(own)));
  EXPECT_THAT(calls.finish(),
              HasSubstr("rank 0 called sum() and ranks 1 and 2 called mean(\"loss\") instead"));
}

TEST(SummedNumbers, AnAnswerHasTheSumsOrTheRefusal) {
  std::array<std::uint32_t, 2> sums{4, 5};
  std::array<std::uint32_t, 2> into{};
  EXPECT_EQ(read_answer(encode_answer("", std::span<std::uint32_t>(sums)), std::span<std::uint32_t>(into)),
            "");
  EXPECT_EQ(into, sums);
  EXPECT_EQ(read_answer(encode_answer("no", std::span<std::uint32_t>(sums)), std::span<std::uint32_t>(into)),
            "no");
  std::array<std::uint32_t, 1> shorter{};
  EXPECT_EQ(read_answer(encode_answer("", std::span<std::uint32_t>(sums)), std::span<std::uint32_t>(shorter)),
            "rank 0 answered with 9 bytes to 1 number of type std::uint32_t");
  EXPECT_EQ(call_name_in(encode_call("sum()", std::span<std::uint32_t>(sums))), "sum()");
}

TEST(SummedNumbers, ManyRanksAreNamedShortly) {
  EXPECT_EQ(describe_ranks({3}), "rank 3");
  EXPECT_EQ(describe_ranks({3, 5}), "ranks 3 and 5");
  std::vector<std::uint32_t> many(100);
  std::iota(many.begin(), many.end(), 1);
  EXPECT_EQ(describe_ranks(many), "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 92 more");
}

}  // namespace
}  // namespace ratoon::session::summed_numbers_test
