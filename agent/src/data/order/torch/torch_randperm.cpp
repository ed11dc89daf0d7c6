// The generator alone determines which positions of the list are swapped, regardless of the numbers in the
// list. Therefore the positions of the next block of swaps are drawn and prefetched before the previous block
// is swapped. With prefetching, the time for a large list depends on the throughput of the memory and not on
// its latency.
#include "agent/src/data/order/torch/torch_randperm.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace ratoon::data {
namespace {

constexpr std::size_t kPrefetchPlaces = 128;  // places that are prefetched at a time

template <class Place>
struct PrefetchBlock {
  std::array<Place, kPrefetchPlaces> places;
  std::size_t count = 0;
};

// Calls draw(first, places) for blocks of steps, and swap(i, place) for every step i below `steps`. The calls
// of draw() are one block ahead of the calls of swap().
template <class Number, class Draw, class Swap>
void swap_with_prefetch(std::span<Number> numbers, std::uint64_t steps, Draw draw, Swap swap) {
  std::array<PrefetchBlock<Number>, 2> blocks;
  const auto look_ahead = [&](std::uint64_t first, PrefetchBlock<Number>& block) {
    block.count = static_cast<std::size_t>(std::min<std::uint64_t>(kPrefetchPlaces, steps - first));
    draw(first, std::span(block.places).first(block.count));
    for (std::size_t j = 0; j < block.count; ++j) __builtin_prefetch(&numbers[block.places[j]], 1);
  };
  look_ahead(0, blocks[0]);
  for (std::uint64_t first = 0, turn = 0; first < steps; first += kPrefetchPlaces, turn ^= 1) {
    if (steps - first > kPrefetchPlaces) look_ahead(first + kPrefetchPlaces, blocks[turn ^ 1]);
    for (std::size_t j = 0; j < blocks[turn].count; ++j) swap(first + j, blocks[turn].places[j]);
  }
}

// This Fisher-Yates shuffle begins at the front and uses the remainder of 32 random bits for each position,
// as PyTorch does. In large lists, the remainder makes low positions slightly more likely, but the result
// must equal PyTorch's order.
template <class Number>
void shuffle_from_front(std::span<Number> numbers, TorchGenerator& generator) {
  std::iota(numbers.begin(), numbers.end(), Number{0});
  const std::uint64_t size = numbers.size();
  if (size < 2) return;
  std::array<std::uint32_t, kPrefetchPlaces> drawn;
  swap_with_prefetch(
      numbers, size - 1,
      [&](std::uint64_t first, std::span<Number> places) {
        const auto random = std::span(drawn).first(places.size());
        generator.fill(random);
        for (std::size_t j = 0; j < places.size(); ++j) {
          const Number left = static_cast<Number>(size - first - j);
          places[j] = static_cast<Number>(first + j) + static_cast<Number>(random[j]) % left;
        }
      },
      [&](std::uint64_t i, Number place) { std::swap(numbers[i], numbers[place]); });
}

// The inside-out shuffle draws 64 random bits for each number. It stores the number at a random position of
// the list so far, and moves the number that was there to the new end of the list.
template <class Number>
void shuffle_inside_out(std::span<Number> numbers, TorchGenerator& generator) {
  if (numbers.empty()) return;
  swap_with_prefetch(
      numbers, numbers.size(),
      [&](std::uint64_t first, std::span<Number> places) {
        for (std::size_t j = 0; j < places.size(); ++j)
          places[j] = static_cast<Number>(generator.random64() % (first + j + 1));
      },
      [&](std::uint64_t i, Number place) {
        numbers[i] = numbers[place];
        numbers[place] = static_cast<Number>(i);
      });
}

template <class Number>
void fill_permutation(std::span<Number> numbers, TorchGenerator& generator, TorchRelease release) {
  if (uses_inside_out_shuffle(numbers.size(), release)) {
    shuffle_inside_out(numbers, generator);
  } else {
    shuffle_from_front(numbers, generator);
  }
}

}  // namespace

bool uses_inside_out_shuffle(std::uint64_t size, TorchRelease release) {
  return release == TorchRelease::kSince2_6 && size >= kLargePermutationMin;
}

void fill_by_inside_out_shuffle(std::span<std::uint32_t> numbers, TorchGenerator& generator) {
  shuffle_inside_out(numbers, generator);
}

void fill_by_inside_out_shuffle(std::span<std::uint64_t> numbers, TorchGenerator& generator) {
  shuffle_inside_out(numbers, generator);
}

void fill_randperm(std::span<std::uint32_t> numbers, TorchGenerator& generator, TorchRelease release) {
  fill_permutation(numbers, generator, release);
}

void fill_randperm(std::span<std::uint64_t> numbers, TorchGenerator& generator, TorchRelease release) {
  fill_permutation(numbers, generator, release);
}

std::uint64_t random_numbers_of_randperm(std::uint64_t size, TorchRelease release) {
  if (uses_inside_out_shuffle(size, release)) return 2 * size;
  return size == 0 ? 0 : size - 1;
}

}  // namespace ratoon::data

namespace ratoon {

std::string_view name_of(TorchRelease release) {
  return release == TorchRelease::kBefore2_6 ? "torch-legacy" : "torch-2.6+";
}

}  // namespace ratoon
