// A mixture: which source each slot draws from, and how often that source was drawn before it. Slots are cut
// into blocks of 65,536 draws; in every block each source is drawn exactly its weight times, in an order that
// is shuffled anew. So the position in every source follows from the slot's number, whatever its size.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ratoon::data {

constexpr std::uint64_t kMixtureBlock = 65536;

// Shares of a block, one a source: whole numbers that sum to kMixtureBlock, by largest remainders. A source
// with any weight gets one draw at least, one with none gets none. Throws std::invalid_argument if a weight
// is negative or not finite, or if all are 0.
[[nodiscard]] std::vector<std::uint32_t> quantise(std::span<const double> weights);

// Weights, and where they began.
struct Mixture {
  std::uint64_t origin = 0;  // the slot with which its first block begins
  std::vector<std::uint32_t> weights;
  std::vector<std::uint64_t> drawn;  // of each source, in the slots before `origin`
};

class MixtureBlock {
 public:
  // Block `number` of the mixture. It costs some hundred microseconds, and 256 KiB.
  MixtureBlock(std::shared_ptr<const Mixture> mixture, std::uint64_t seed, std::uint64_t number);

  [[nodiscard]] bool holds(const Mixture& mixture, std::uint64_t slot) const {
    return mixture_.get() == &mixture && slot >= start_ && slot - start_ < kMixtureBlock;
  }
  [[nodiscard]] const Mixture& mixture() const { return *mixture_; }
  [[nodiscard]] std::uint64_t start() const { return start_; }

  // Of the draws of this block, 0 to kMixtureBlock - 1.
  [[nodiscard]] std::uint32_t source(std::uint64_t draw) const { return sources_[draw]; }
  // How often its source was drawn in all slots before it.
  [[nodiscard]] std::uint64_t count(std::uint64_t draw) const {
    return drawn_before(sources_[draw]) + ranks_[draw];
  }
  // How often each source was drawn in all slots before this one.
  [[nodiscard]] std::vector<std::uint64_t> counts(std::uint64_t draw) const;
  // The draw of a source with that count; it must be in this block.
  [[nodiscard]] std::uint64_t find(std::uint32_t source, std::uint64_t count) const;

 private:
  [[nodiscard]] std::uint64_t drawn_before(std::size_t source) const {
    return mixture_->drawn[source] + number_ * mixture_->weights[source];
  }

  std::shared_ptr<const Mixture> mixture_;
  std::uint64_t number_;
  std::uint64_t start_;
  std::vector<std::uint16_t> sources_;
  std::vector<std::uint16_t> ranks_;  // how often the source was drawn in the block before
};

}  // namespace ratoon::data
