// Implements the two algorithms of torch.randperm. Both algorithms write into the caller's memory.
#pragma once

#include <cstdint>
#include <span>

#include <ratoon/torch_random.h>

namespace ratoon::data {

// For lists of at least kLargePermutation numbers, PyTorch 2.6 and later draw 64 random bits per place.
inline constexpr std::uint64_t kLargePermutation = 214748364;  // floor((2^32 - 1) / 20)

// Runs PyTorch's algorithm for sizes from kLargePermutation on, here for a list of any size.
void fill_inside_out(std::span<std::uint32_t> numbers, TorchGenerator& generator);
void fill_inside_out(std::span<std::uint64_t> numbers, TorchGenerator& generator);

// Returns whether `release` uses the algorithm of fill_inside_out() for lists of `size` numbers.
[[nodiscard]] bool is_inside_out(std::uint64_t size, TorchRelease release);

// Fills `numbers` with a permutation of 0 .. numbers.size() - 1.
void fill_randperm(std::span<std::uint32_t> numbers, TorchGenerator& generator, TorchRelease release);
void fill_randperm(std::span<std::uint64_t> numbers, TorchGenerator& generator, TorchRelease release);

// Returns how many random numbers the permutation takes from the generator.
[[nodiscard]] std::uint64_t numbers_of_randperm(std::uint64_t size, TorchRelease release);

}  // namespace ratoon::data
