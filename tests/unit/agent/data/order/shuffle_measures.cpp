#include "tests/unit/agent/data/order/shuffle_measures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <ratoon/counter_random.h>
#include <ratoon/permutation.h>

namespace ratoon::test {
namespace {

Order numbers_below(std::uint64_t n) {
  Order order(n);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  return order;
}

std::uint64_t disagreements(const Order& a, const Order& b) {
  std::uint64_t pairs = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) pairs += (a[i] < a[j]) != (b[i] < b[j]) ? 1 : 0;
  return pairs;
}

// The statistic of the covariance at a lag, in units of the ideal order's value.
double lag_off(const Order& order, std::size_t lag) {
  const auto n = static_cast<double>(order.size());
  const double mean = (n - 1) / 2;
  double sum = 0;
  for (std::size_t i = lag; i < order.size(); ++i)
    sum += (static_cast<double>(order[i]) - mean) * (static_cast<double>(order[i - lag]) - mean);
  const double variance = (n * n - 1) / 12;
  return (sum / variance + 1) / std::sqrt(n);
}

}  // namespace

Order ours(std::uint64_t samples, std::uint64_t seed) {
  Order order(samples);
  Permutation(samples, permutation_key(seed, "quality", 0)).fill(0, order);
  return order;
}

Order ideal(std::uint64_t samples, std::uint64_t seed) {
  Order order = numbers_below(samples);
  CounterRandom random(seed, "ideal shuffle");
  for (std::uint64_t i = samples; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

Order four_rounds(std::uint64_t samples, std::uint64_t seed) {
  std::uint64_t radix = 1;
  while (radix * radix < samples) ++radix;
  Order order;
  for (std::uint64_t place = 0; place < samples; ++place) {
    std::uint64_t value = place;
    do {
      std::uint64_t low = value % radix;
      std::uint64_t high = value / radix;
      for (std::uint64_t round = 0; round < 4; round += 2) {
        low = (low + splitmix64(high ^ mix_into(seed, round)) % radix) % radix;
        high = (high + splitmix64(low ^ mix_into(seed, round + 1)) % radix) % radix;
      }
      value = high * radix + low;
    } while (value >= samples);
    order.push_back(value);
  }
  return order;
}

Order rotation(std::uint64_t samples, std::uint64_t seed) {
  Order order = numbers_below(samples);
  const auto shift = static_cast<std::ptrdiff_t>(mix_into(seed, 0) % samples);
  std::rotate(order.begin(), order.begin() + shift, order.end());
  return order;
}

Order runs_of_16(std::uint64_t samples, std::uint64_t seed) {
  Order order;
  for (const std::uint64_t run : ideal(samples / 16, seed))
    for (std::uint64_t i = 0; i < 16; ++i) order.push_back(run * 16 + i);
  return order;
}

Order any_swaps(std::uint64_t samples, std::uint64_t seed) {
  Order order = numbers_below(samples);
  CounterRandom random(seed, "any swaps");
  for (std::uint64_t& each : order) std::swap(each, order[random.below(samples)]);
  return order;
}

double chi_square(const std::vector<std::uint64_t>& counts) {
  const double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const std::uint64_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    sum += off * off / expected;
  }
  return sum;
}

double chi_square_of_orders(const Shuffle& shuffle, std::uint64_t n, std::uint64_t seeds) {
  std::map<Order, std::uint64_t> seen;
  Order order = numbers_below(n);
  do seen[order] = 0;
  while (std::next_permutation(order.begin(), order.end()));
  for (std::uint64_t seed = 0; seed < seeds; ++seed) ++seen.at(shuffle(n, seed));
  std::vector<std::uint64_t> counts;
  for (const auto& [each, count] : seen) counts.push_back(count);
  return chi_square(counts);
}

double chi_square_of_places(const Shuffle& shuffle, std::uint64_t n, std::uint64_t cells,
                            std::uint64_t seeds) {
  std::vector<std::uint64_t> counts(cells * cells);
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Order order = shuffle(n, seed);
    for (std::uint64_t place = 0; place < n; ++place)
      ++counts[place * cells / n * cells + order[place] * cells / n];
  }
  return chi_square(counts);
}

double fixed_points(const Shuffle& shuffle, std::uint64_t n, std::uint64_t seeds) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Order order = shuffle(n, seed);
    for (std::uint64_t place = 0; place < n; ++place) found += order[place] == place ? 1 : 0;
  }
  return static_cast<double>(found) / static_cast<double>(seeds);
}

double successors(const Shuffle& shuffle, std::uint64_t n, std::uint64_t seeds) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Order order = shuffle(n, seed);
    for (std::uint64_t place = 1; place < n; ++place) found += order[place] == order[place - 1] + 1 ? 1 : 0;
  }
  return static_cast<double>(found) / static_cast<double>(seeds);
}

double worst_lag(const Shuffle& shuffle, std::uint64_t n, std::uint64_t seeds) {
  double worst = 0;
  for (std::size_t lag = 1; lag <= 16; ++lag) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) sum += lag_off(shuffle(n, seed), lag);
    worst = std::max(worst, std::abs(sum) / std::sqrt(static_cast<double>(seeds)));
  }
  return worst;
}

Inversions inversions(const Shuffle& shuffle, std::uint64_t n, std::uint64_t seeds) {
  const auto size = static_cast<double>(n);
  const double mean = size * (size - 1) / 4;
  const double variance = size * (size - 1) * (2 * size + 5) / 72;
  double sum = 0;
  double squares = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const double off = static_cast<double>(disagreements(shuffle(n, seed), numbers_below(n))) - mean;
    sum += off;
    squares += off * off;
  }
  const auto count = static_cast<double>(seeds);
  return {.mean_off = std::abs(sum) / std::sqrt(variance * count),
          .variance_ratio = squares / count / variance};
}

double correlation(const Order& a, const Order& b) {
  const auto n = static_cast<double>(a.size());
  const double mean = (n - 1) / 2;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += (static_cast<double>(a[i]) - mean) * (static_cast<double>(b[i]) - mean);
  return sum / ((n * n - 1) / 12) / std::sqrt(n);
}

double mallows_discrepancy(const Shuffle& shuffle, std::uint64_t n, std::uint64_t seeds) {
  std::map<Order, double> seen;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) seen[shuffle(n, seed)] += 1;
  const double step = std::exp(-5.0 / (static_cast<double>(n * (n - 1)) / 2));
  double sum = 0;
  for (const auto& [a, of_a] : seen)
    for (const auto& [b, of_b] : seen)
      sum += of_a * of_b * std::pow(step, static_cast<double>(disagreements(a, b)));
  double ideal_mean = 1;  // of the kernel, over all orders
  for (std::uint64_t i = 1; i <= n; ++i)
    ideal_mean *= (1 - std::pow(step, static_cast<double>(i))) / (static_cast<double>(i) * (1 - step));
  const auto count = static_cast<double>(seeds);
  return (sum / count / count - ideal_mean) * count;
}

double neighbour_entropy(const Order& order) {
  std::vector<std::uint64_t> counts(order.size());
  for (std::size_t i = 1; i < order.size(); ++i)
    ++counts[order[i] > order[i - 1] ? order[i] - order[i - 1] : order[i - 1] - order[i]];
  double entropy = 0;
  for (const std::uint64_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / static_cast<double>(order.size() - 1);
    entropy -= share * std::log2(share);
  }
  return entropy;
}

}  // namespace ratoon::test
