#include <stdexcept>
#include <string>

#include <ratoon/counter_random.h>
#include <ratoon/permutation.h>

namespace ratoon {
namespace {

__extension__ using Uint128 = unsigned __int128;

// Each round mixes only few bits of a small permutation, so a small permutation needs more rounds.
constexpr std::uint64_t kSmallPermutationSize = std::uint64_t{1} << 16;
constexpr int kRoundsIfSmall = 24;
constexpr int kRoundsIfLarge = 12;

// Permuting eight numbers in parallel hides the latency of each multiplication. More numbers at a time would
// need far more registers than a CPU core has.
constexpr std::size_t kParallelNumbers = 8;

// Computes the smallest r with r * r >= n, bit by bit: a floating-point root may be off by one for large n.
std::uint64_t ceil_square_root(std::uint64_t n) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1) {
    const std::uint64_t larger = root + bit;
    if (larger * larger < n) root = larger;
  }
  return root + 1;  // `root` is now the largest with root * root < n
}

// The result is the high word of the product of a hash and `radix`, so that all numbers below `radix` are
// equally likely. The remainder of a division by `radix` would make small numbers more likely.
std::uint64_t feistel_round(std::uint64_t half, std::uint64_t key, std::uint64_t radix) {
  return static_cast<std::uint64_t>((Uint128{splitmix64(half ^ key)} * radix) >> 64);
}

}  // namespace

std::uint64_t permutation_key(std::uint64_t seed, std::string_view source, std::uint64_t epoch) {
  return mix_into(hash64(hash64(seed, "ratoon permutation 1"), source), epoch);
}

Permutation::Permutation(std::uint64_t size, std::uint64_t key) : size_(size) {
  if (size == 0 || size > kSizeMax) {
    throw std::invalid_argument("a Permutation needs a size of 1 to 2^62, found " + std::to_string(size));
  }
  low_radix_ = ceil_square_root(size);
  high_radix_ = (size + low_radix_ - 1) / low_radix_;
  rounds_ = size < kSmallPermutationSize ? kRoundsIfSmall : kRoundsIfLarge;
  for (int i = 0; i < rounds_; ++i) {
    round_keys_[static_cast<std::size_t>(i)] = mix_into(key, static_cast<std::uint64_t>(i));
  }
}

std::uint64_t Permutation::forward(std::uint64_t x) const {
  std::uint64_t low = x % low_radix_;
  std::uint64_t high = x / low_radix_;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rounds_); i += 2) {
    low += feistel_round(high, round_keys_[i], low_radix_);
    if (low >= low_radix_) low -= low_radix_;
    high += feistel_round(low, round_keys_[i + 1], high_radix_);
    if (high >= high_radix_) high -= high_radix_;
  }
  return high * low_radix_ + low;
}

std::uint64_t Permutation::backward(std::uint64_t x) const {
  std::uint64_t low = x % low_radix_;
  std::uint64_t high = x / low_radix_;
  for (std::size_t i = static_cast<std::size_t>(rounds_); i != 0; i -= 2) {
    const std::uint64_t from_high = feistel_round(low, round_keys_[i - 1], high_radix_);
    high = high >= from_high ? high - from_high : high + high_radix_ - from_high;
    const std::uint64_t from_low = feistel_round(high, round_keys_[i - 2], low_radix_);
    low = low >= from_low ? low - from_low : low + low_radix_ - from_low;
  }
  return high * low_radix_ + low;
}

void Permutation::check(std::uint64_t x) const {
  if (x < size_) return;
  throw std::out_of_range(std::to_string(x) + " is not below " + std::to_string(size_) +
                          ", the size of the Permutation");
}

// The rounds permute the numbers below high_radix_ * low_radix_, which exceeds the size of the Permutation by
// at most low_radix_ - 1. A result that is not below the size is permuted again until the result is below the
// size. The loop ends, because repeating a permutation leads back to the first number `place`, which is below
// the size.
std::uint64_t Permutation::operator()(std::uint64_t place) const {
  check(place);
  do place = forward(place);
  while (place >= size_);
  return place;
}

std::uint64_t Permutation::inverse(std::uint64_t value) const {
  check(value);
  do value = backward(value);
  while (value >= size_);
  return value;
}

// Each round needs the result of the round before it, so permuting one number at a time leaves the CPU core
// half idle. Permuting several numbers in parallel uses this idle time.
template <class Place>
void Permutation::fill_from(std::span<std::uint64_t> values, Place place_of) const {
  const std::uint64_t low_radix = low_radix_;
  const std::uint64_t high_radix = high_radix_;
  std::size_t done = 0;
  for (; done + kParallelNumbers <= values.size(); done += kParallelNumbers) {
    std::uint64_t low[kParallelNumbers];
    std::uint64_t high[kParallelNumbers];
    for (std::size_t i = 0; i < kParallelNumbers; ++i) place_of(done + i, low[i], high[i]);
    for (std::size_t round = 0; round < static_cast<std::size_t>(rounds_); round += 2) {
      for (std::size_t i = 0; i < kParallelNumbers; ++i) {
        const std::uint64_t sum = low[i] + feistel_round(high[i], round_keys_[round], low_radix);
        low[i] = sum >= low_radix ? sum - low_radix : sum;
      }
      for (std::size_t i = 0; i < kParallelNumbers; ++i) {
        const std::uint64_t sum = high[i] + feistel_round(low[i], round_keys_[round + 1], high_radix);
        high[i] = sum >= high_radix ? sum - high_radix : sum;
      }
    }
    for (std::size_t i = 0; i < kParallelNumbers; ++i) {
      std::uint64_t value = high[i] * low_radix + low[i];
      while (value >= size_) value = forward(value);
      values[done + i] = value;
    }
  }
  for (; done < values.size(); ++done) {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    place_of(done, low, high);
    values[done] = (*this)(high * low_radix + low);
  }
}

void Permutation::fill(std::uint64_t place, std::span<std::uint64_t> values) const {
  if (values.empty()) return;
  check(place);
  if (values.size() > size_ - place) check(size_);
  std::uint64_t next_low = place % low_radix_;
  std::uint64_t next_high = place / low_radix_;
  fill_from(values, [&](std::size_t, std::uint64_t& low, std::uint64_t& high) {
    low = next_low;
    high = next_high;
    if (++next_low == low_radix_) {  // avoids a division per place
      next_low = 0;
      ++next_high;
    }
  });
}

void Permutation::map(std::span<std::uint64_t> places) const {
  for (const std::uint64_t place : places) check(place);
  fill_from(places, [&](std::size_t i, std::uint64_t& low, std::uint64_t& high) {
    low = places[i] % low_radix_;
    high = places[i] / low_radix_;
  });
}

}  // namespace ratoon
