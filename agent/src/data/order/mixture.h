// A mixture: the source from which each slot draws, and how often that source was drawn before. Slots are
// divided into blocks of 65,536 draws. In every block each source is drawn exactly as often as its weight
// says, in an order that is shuffled anew for each block. The position in every source is therefore computed
// from the slot's number alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ratoon::data {

constexpr std::uint64_t kMixtureBlock = 65536;

// The shares of the sources in a block: whole numbers that sum to kMixtureBlock, by largest remainders. A
// source with a weight above 0 gets at least one draw, a source with weight 0 none. Throws
// std::invalid_argument if a weight is negative or not finite, or if all are 0.
[[nodiscard]] std::vector<std::uint32_t> quantise(std::span<const double> weights);

// The weights of a mixture, and the slot where they begin.
struct Mixture {
  std::uint64_t origin = 0;  // the first slot of its first block
  std::vector<std::uint32_t> weights;
  std::vector<std::uint64_t> drawn;  // of each source, in the slots before `origin`
};

class MixtureBlock {
 public:
  // Computes block `number` of the mixture. Computing a block takes some hundred microseconds and 256 KiB.
  MixtureBlock(std::shared_ptr<const Mixture> mixture, std::uint64_t seed, std::uint64_t number);

  [[nodiscard]] bool holds(const Mixture& mixture, std::uint64_t slot) const {
    return mixture_.get() == &mixture && slot >= start_ && slot - start_ < kMixtureBlock;
  }
  [[nodiscard]] const Mixture& mixture() const { return *mixture_; }
  [[nodiscard]] std::uint64_t start() const { return start_; }

  // `draw` is a draw of this block, 0 to kMixtureBlock - 1.
  [[nodiscard]] std::uint32_t source(std::uint64_t draw) const { return sources_[draw]; }
  // How often the source of the draw was drawn in all slots before it.
  [[nodiscard]] std::uint64_t count(std::uint64_t draw) const {
    return drawn_before(sources_[draw]) + ranks_[draw];
  }
  // How often each source was drawn in all slots before this slot.
  [[nodiscard]] std::vector<std::uint64_t> counts(std::uint64_t draw) const;
  // The draw at which a source reaches that count; it must be in this block.
  [[nodiscard]] std::uint64_t find(std::uint32_t source, std::uint64_t count) const;

 private:
  [[nodiscard]] std::uint64_t drawn_before(std::size_t source) const {
    return mixture_->drawn[source] + number_ * mixture_->weights[source];
  }

  std::shared_ptr<const Mixture> mixture_;
  std::uint64_t number_;
  std::uint64_t start_;
  std::vector<std::uint16_t> sources_;
  std::vector<std::uint16_t> ranks_;  // how often the source was drawn before in this block
};

}  // namespace ratoon::data
