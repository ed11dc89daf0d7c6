// The distance of a shuffle from one in which every order is equally likely. Each measure is a number that is
// small, or near a known value, for an ideal shuffle.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace ratoon::test {

using Order = std::vector<std::uint64_t>;
// The order of that many samples for a seed.
using Shuffle = std::function<Order(std::uint64_t samples, std::uint64_t seed)>;

// Our shuffle, an ideal one (Fisher and Yates with independent numbers), and bad ones, which the measures
// must detect: ours with 4 rounds, a rotation by a random number, runs of 16 that keep their order, and the
// well-known mistake of swapping each with any other.
[[nodiscard]] Order ours(std::uint64_t samples, std::uint64_t seed);
[[nodiscard]] Order ideal(std::uint64_t samples, std::uint64_t seed);
[[nodiscard]] Order four_rounds(std::uint64_t samples, std::uint64_t seed);
[[nodiscard]] Order rotation(std::uint64_t samples, std::uint64_t seed);
[[nodiscard]] Order runs_of_16(std::uint64_t samples, std::uint64_t seed);
[[nodiscard]] Order any_swaps(std::uint64_t samples, std::uint64_t seed);

[[nodiscard]] double chi_square(const std::vector<std::uint64_t>& counts);

// The chi-square over all n! orders of n samples; n up to 6.
[[nodiscard]] double chi_square_of_orders(const Shuffle& shuffle, std::uint64_t n, std::uint64_t seeds);
// The chi-square over cells of places by samples, cells by cells. Rows and columns are full, so it has (cells
// - 1)^2 degrees of freedom; for few samples its mean is n / (n - 1) of that.
[[nodiscard]] double chi_square_of_places(const Shuffle& shuffle, std::uint64_t n, std::uint64_t cells,
                                          std::uint64_t seeds);
// How often a sample is at its own place, and right after its predecessor: the ideal is 1 per order each.
[[nodiscard]] double fixed_points(const Shuffle& shuffle, std::uint64_t n, std::uint64_t seeds);
[[nodiscard]] double successors(const Shuffle& shuffle, std::uint64_t n, std::uint64_t seeds);
// The largest correlation at lags 1 to 16 within an order, in standard deviations of an ideal one.
[[nodiscard]] double worst_lag(const Shuffle& shuffle, std::uint64_t n, std::uint64_t seeds);
// The mean number of pairs out of order, in standard deviations from n (n - 1) / 4; and their variance beside
// the ideal n (n - 1) (2 n + 5) / 72.
struct Inversions {
  double mean_off = 0;
  double variance_ratio = 0;
};
[[nodiscard]] Inversions inversions(const Shuffle& shuffle, std::uint64_t n, std::uint64_t seeds);
// The correlation between two orders of the same samples, in standard deviations.
[[nodiscard]] double correlation(const Order& a, const Order& b);
// The mean discrepancy from the ideal under the Mallows kernel exp(-5 d / (n (n - 1) / 2)), d being the pairs
// on which two orders disagree, times the number of seeds. The measure is around 1 less the mean of the
// kernel.
[[nodiscard]] double mallows_discrepancy(const Shuffle& shuffle, std::uint64_t n, std::uint64_t seeds);
// The entropy of the distances between neighbours, in bits, as in MosaicML Streaming's simulator.
[[nodiscard]] double neighbour_entropy(const Order& order);

}  // namespace ratoon::test
