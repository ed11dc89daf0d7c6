#include "agent/src/data/order/mixture.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>

#include <ratoon/counter_random.h>

namespace ratoon::data {
namespace {

__extension__ using Uint128 = unsigned __int128;

// Weights are rounded to multiples of 2^-40 of the largest weight, so that the following computations use
// whole numbers.
constexpr double kWeightResolution = 0x1p40;

std::vector<std::uint64_t> integer_weights_of(std::span<const double> weights) {
  double largest = 0;
  for (const double weight : weights) {
    if (!std::isfinite(weight) || weight < 0)
      throw std::invalid_argument("the weight of a source must be at least 0, found " +
                                  std::to_string(weight));
    largest = std::max(largest, weight);
  }
  if (largest == 0) throw std::invalid_argument("at least one source needs a weight above 0");
  std::vector<std::uint64_t> parts;
  for (const double weight : weights)
    parts.push_back(weight == 0 ? 0
                                : std::max<std::uint64_t>(
                                      1, static_cast<std::uint64_t>(weight / largest * kWeightResolution)));
  return parts;
}

// Derives the random key of a block from the seed and from the block's first slot, because the blocks of a
// run must have different keys.
std::uint64_t block_random_key(std::uint64_t seed, std::uint64_t start) {
  return mix_into(hash64(seed, "ratoon mixture 1"), start);
}

}  // namespace

std::vector<std::uint32_t> weights_to_draw_counts(std::span<const double> weights) {
  const std::vector<std::uint64_t> parts = integer_weights_of(weights);
  const Uint128 total = std::accumulate(parts.begin(), parts.end(), Uint128{0});
  std::vector<std::uint32_t> shares(parts.size());
  std::vector<Uint128> remainders(parts.size());
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Uint128 exact = Uint128{parts[i]} * kMixtureBlockSlots;
    shares[i] = static_cast<std::uint32_t>(exact / total);
    remainders[i] = exact % total;
    if (shares[i] == 0 && parts[i] != 0) {  // a source with a weight is drawn at least once
      shares[i] = 1;
      remainders[i] = 0;
    }
    given += shares[i];
  }
  std::vector<std::size_t> by_remainder(parts.size());
  std::iota(by_remainder.begin(), by_remainder.end(), std::size_t{0});
  std::stable_sort(by_remainder.begin(), by_remainder.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (std::size_t i = 0; given < kMixtureBlockSlots; ++i, ++given) ++shares[by_remainder[i]];
  for (; given > kMixtureBlockSlots; --given) --*std::max_element(shares.begin(), shares.end());
  return shares;
}

MixtureBlock::MixtureBlock(std::shared_ptr<const Mixture> mixture, std::uint64_t seed, std::uint64_t number)
    : mixture_(std::move(mixture)),
      block_index_(number),
      start_(mixture_->origin + number * kMixtureBlockSlots) {
  const std::vector<std::uint32_t>& weights = mixture_->weights;
  sources_.reserve(kMixtureBlockSlots);
  for (std::size_t i = 0; i < weights.size(); ++i)
    sources_.insert(sources_.end(), weights[i], static_cast<std::uint16_t>(i));
  // The loop below is the Fisher-Yates shuffle. Do not change which random number is used for which position:
  // a run that resumes from a checkpoint must get the same order.
  const std::uint64_t key = block_random_key(seed, start_);
  for (std::uint64_t last = kMixtureBlockSlots - 1; last > 0; --last) {
    const auto other = static_cast<std::uint64_t>((Uint128{mix_into(key, last)} * (last + 1)) >> 64);
    std::swap(sources_[last], sources_[other]);
  }
  std::vector<std::uint16_t> drawn(weights.size());
  earlier_draws_in_block_.reserve(kMixtureBlockSlots);
  for (const std::uint16_t source : sources_) earlier_draws_in_block_.push_back(drawn[source]++);
}

std::vector<std::uint64_t> MixtureBlock::draw_counts_before(std::uint64_t draw) const {
  std::vector<std::uint64_t> counts(mixture_->weights.size());
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = source_draws_before_block(i);
  for (std::uint64_t i = 0; i < draw; ++i) ++counts[sources_[i]];
  return counts;
}

std::uint64_t MixtureBlock::find_draw(std::uint32_t source, std::uint64_t count) const {
  const std::uint64_t rank = count - source_draws_before_block(source);
  for (std::uint64_t draw = 0; draw < kMixtureBlockSlots; ++draw)
    if (sources_[draw] == source && earlier_draws_in_block_[draw] == rank) return draw;
  std::abort();  // every rank below the weight is in the block
}

}  // namespace ratoon::data
