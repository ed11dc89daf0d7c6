// Permutation: a shuffled order of the numbers 0 to size - 1 that is computed, not stored. To look up one
// number or its place takes a few dozen nanoseconds and no memory, even for ten billion numbers.
//
//   const ratoon::Permutation order(60000, ratoon::permutation_key(17, "digits", 3));  // of epoch 3
//   const std::uint64_t sample = order(12);           // the 13th sample of that epoch
//   const std::uint64_t place = order.inverse(sample);  // 12
//
// No release changes the numbers of a permutation, so a resumed run has the same order on any machine.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace ratoon {

// Returns the key for the order of one epoch of one source of samples. The key is a hash of seed, source and
// epoch. The key is not seed + epoch, because epoch 1 of seed 1 would then have the order of epoch 0 of seed
// 2. `source` is a name or digest of the data set.
[[nodiscard]] std::uint64_t permutation_key(std::uint64_t seed, std::string_view source, std::uint64_t epoch);

class Permutation {
 public:
  static constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 62;

  // Throws std::invalid_argument if the size is 0 or above kSizeMax.
  Permutation(std::uint64_t size, std::uint64_t key);

  [[nodiscard]] std::uint64_t size() const { return size_; }

  // operator() and inverse() take a number below size() and throw std::out_of_range for any other number.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t place) const;
  [[nodiscard]] std::uint64_t inverse(std::uint64_t value) const;

  // fill() fills `values` with the permutation's values from `place` on. map() replaces each place with its
  // value. fill() and map() are several times as fast as single calls of operator(), because they compute
  // several numbers at once.
  void fill(std::uint64_t place, std::span<std::uint64_t> values) const;
  void map(std::span<std::uint64_t> places) const;

 private:
  static constexpr int kRoundsMax = 24;

  template <class Place>
  void fill_from(std::span<std::uint64_t> values, Place place_of) const;
  [[nodiscard]] std::uint64_t forward(std::uint64_t x) const;
  [[nodiscard]] std::uint64_t backward(std::uint64_t x) const;
  void check(std::uint64_t x) const;

  std::uint64_t size_;
  std::uint64_t low_radix_;  // numbers are written as high * low_radix_ + low
  std::uint64_t high_radix_;
  int rounds_;
  std::array<std::uint64_t, kRoundsMax> round_keys_{};
};

}  // namespace ratoon
