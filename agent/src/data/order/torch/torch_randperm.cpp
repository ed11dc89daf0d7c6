// The generator alone determines which positions of the list are swapped, regardless of the numbers in the
// list. Therefore the positions for a whole block of swaps are drawn and prefetched while the previous block
// is swapped. With this prefetching, the time for a large list depends on the throughput of the memory and
// not on its latency.
#include "agent/src/data/order/torch/torch_randperm.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace ratoon::data {
namespace {

constexpr std::size_t kBlock = 128;  // places that are prefetched at a time

template <class Place>
struct Block {
  std::array<Place, kBlock> places;
  std::size_t count = 0;
};

// Calls draw(i, count, places) for blocks of steps, and swap(i, place) for every step i below `steps`. The
// calls of draw() are one block ahead of the calls of swap().
template <class Number, class Draw, class Swap>
void run_ahead(std::span<Number> numbers, std::uint64_t steps, Draw draw, Swap swap) {
  std::array<Block<Number>, 2> blocks;
  const auto look_ahead = [&](std::uint64_t first, Block<Number>& block) {
    block.count = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, steps - first));
    draw(first, std::span(block.places).first(block.count));
    for (std::size_t j = 0; j < block.count; ++j) __builtin_prefetch(&numbers[block.places[j]], 1);
  };
  look_ahead(0, blocks[0]);
  for (std::uint64_t first = 0, turn = 0; first < steps; first += kBlock, turn ^= 1) {
    if (steps - first > kBlock) look_ahead(first + kBlock, blocks[turn ^ 1]);
    for (std::size_t j = 0; j < blocks[turn].count; ++j) swap(first + j, blocks[turn].places[j]);
  }
}

// This Fisher-Yates shuffle from the front uses the remainder of 32 random bits for each position, as PyTorch
// does. In large lists, low positions are slightly more likely with this remainder, but it must stay, because
// runs rely on PyTorch's order.
template <class Number>
void fill_from_the_front(std::span<Number> numbers, TorchGenerator& generator) {
  std::iota(numbers.begin(), numbers.end(), Number{0});
  const std::uint64_t size = numbers.size();
  if (size < 2) return;
  std::array<std::uint32_t, kBlock> drawn;
  run_ahead(
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

// The inside-out shuffle draws 64 random bits for each number: the number is stored at a random position of
// the list that exists so far, and the number that was there moves to the end of the list.
template <class Number>
void run_inside_out(std::span<Number> numbers, TorchGenerator& generator) {
  if (numbers.empty()) return;
  run_ahead(
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
void fill(std::span<Number> numbers, TorchGenerator& generator, TorchRelease release) {
  if (is_inside_out(numbers.size(), release)) {
    run_inside_out(numbers, generator);
  } else {
    fill_from_the_front(numbers, generator);
  }
}

}  // namespace

bool is_inside_out(std::uint64_t size, TorchRelease release) {
  return release == TorchRelease::kSince2_6 && size >= kLargePermutation;
}

void fill_inside_out(std::span<std::uint32_t> numbers, TorchGenerator& generator) {
  run_inside_out(numbers, generator);
}

void fill_inside_out(std::span<std::uint64_t> numbers, TorchGenerator& generator) {
  run_inside_out(numbers, generator);
}

void fill_randperm(std::span<std::uint32_t> numbers, TorchGenerator& generator, TorchRelease release) {
  fill(numbers, generator, release);
}

void fill_randperm(std::span<std::uint64_t> numbers, TorchGenerator& generator, TorchRelease release) {
  fill(numbers, generator, release);
}

std::uint64_t numbers_of_randperm(std::uint64_t size, TorchRelease release) {
  if (is_inside_out(size, release)) return 2 * size;
  return size == 0 ? 0 : size - 1;
}

}  // namespace ratoon::data

namespace ratoon {

std::string_view name_of(TorchRelease release) {
  return release == TorchRelease::kBefore2_6 ? "torch-legacy" : "torch-2.6+";
}

}  // namespace ratoon
