// Implements the two algorithms that PyTorch uses for torch.randperm. Each function writes the permutation
// into memory that the caller provides.
#pragma once

#include <cstdint>
#include <span>

#include <ratoon/torch_random.h>

namespace ratoon::data {

// For lists of at least kLargePermutationMin numbers, PyTorch 2.6 and later draw 64 random bits for each
// number, not 32.
inline constexpr std::uint64_t kLargePermutationMin = 214748364;  // floor((2^32 - 1) / 20)

// Runs, for a list of any size, the algorithm that PyTorch uses for lists of at least kLargePermutationMin
// numbers.
void fill_by_inside_out_shuffle(std::span<std::uint32_t> numbers, TorchGenerator& generator);
void fill_by_inside_out_shuffle(std::span<std::uint64_t> numbers, TorchGenerator& generator);

// Returns true if this release of PyTorch uses the algorithm of fill_by_inside_out_shuffle() for lists of
// `size` numbers.
[[nodiscard]] bool uses_inside_out_shuffle(std::uint64_t size, TorchRelease release);

// Fills `numbers` with a permutation of 0 .. numbers.size() - 1.
void fill_randperm(std::span<std::uint32_t> numbers, TorchGenerator& generator, TorchRelease release);
void fill_randperm(std::span<std::uint64_t> numbers, TorchGenerator& generator, TorchRelease release);

// Returns how many random numbers the permutation takes from the generator.
[[nodiscard]] std::uint64_t random_numbers_of_randperm(std::uint64_t size, TorchRelease release);

}  // namespace ratoon::data
