// A mixture determines, for each slot of a stream, from which source its sample is drawn, and how often that
// source was drawn before. The slots of a stream are divided into blocks of 65,536 slots, each of which draws
// one sample. In every block each source is drawn exactly as often as its weight says, in an order that is
// shuffled anew for each block. Therefore the number of a slot alone determines how often each source was
// drawn before it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ratoon::data {

constexpr std::uint64_t kMixtureBlock = 65536;

// Returns how often each source is drawn in a block. The numbers are rounded by the method of largest
// remainders, so that their sum is kMixtureBlock. A source with a weight above 0 gets at least one draw, a
// source with weight 0 none. Throws std::invalid_argument if a weight is negative or not finite, or if all
// weights are 0.
[[nodiscard]] std::vector<std::uint32_t> quantise(std::span<const double> weights);

// The weights of a mixture of sources, and the slot of the stream from which they apply.
struct Mixture {
  std::uint64_t origin = 0;  // the first slot of its first block
  std::vector<std::uint32_t> weights;
  std::vector<std::uint64_t> drawn;  // of each source, in the slots before `origin`
};

class MixtureBlock {
 public:
  // Computes block `number` of the mixture. Computing a block takes some hundred microseconds and 256 KiB of
  // memory.
  MixtureBlock(std::shared_ptr<const Mixture> mixture, std::uint64_t seed, std::uint64_t number);

  [[nodiscard]] bool holds(const Mixture& mixture, std::uint64_t slot) const {
    return mixture_.get() == &mixture && slot >= start_ && slot - start_ < kMixtureBlock;
  }
  [[nodiscard]] const Mixture& mixture() const { return *mixture_; }
  [[nodiscard]] std::uint64_t start() const { return start_; }

  // `draw` is the index of a draw in this block, from 0 to kMixtureBlock - 1.
  [[nodiscard]] std::uint32_t source(std::uint64_t draw) const { return sources_[draw]; }
  // Returns how often the source that draw number `draw` chooses was chosen in all earlier slots of the
  // stream.
  [[nodiscard]] std::uint64_t count(std::uint64_t draw) const {
    return drawn_before(sources_[draw]) + ranks_[draw];
  }
  // Returns, for each source, how often it was chosen in all slots before draw number `draw`.
  [[nodiscard]] std::vector<std::uint64_t> counts(std::uint64_t draw) const;
  // Returns the index in this block of the draw of `source` before which `source` was drawn `count` times.
  // The draw that is searched for must be in this block.
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
