// A mixture determines, for each slot of a stream, from which source its sample is drawn, and how often that
// source was drawn before. The slots of a stream are divided into blocks of 65,536 slots, and each slot draws
// one sample. In every block each source is drawn exactly as often as its weight says, in an order that is
// shuffled anew for each block. So the number of a slot is enough to compute how often each source was drawn
// before it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ratoon::data {

constexpr std::uint64_t kMixtureBlockSlots = 65536;

// Returns how often each source is drawn in a block. The numbers of draws are rounded by the method of
// largest remainders, so that their sum is kMixtureBlockSlots. A source with a weight above 0 gets at least
// one draw, a source with weight 0 gets none. Throws std::invalid_argument if a weight is negative or not
// finite, or if all weights are 0.
[[nodiscard]] std::vector<std::uint32_t> weights_to_draw_counts(std::span<const double> weights);

// Mixture: the weights of the sources, and the slot of the stream from which these weights apply.
struct Mixture {
  std::uint64_t origin = 0;  // the first slot of its first block
  std::vector<std::uint32_t> weights;
  std::vector<std::uint64_t> draws_before_first_slot;  // of each source, in the slots before `origin`
};

class MixtureBlock {
 public:
  // Computes block `number` of the mixture. Computing a block takes some hundred microseconds and 256 KiB of
  // memory.
  MixtureBlock(std::shared_ptr<const Mixture> mixture, std::uint64_t seed, std::uint64_t number);

  [[nodiscard]] bool contains_slot(const Mixture& mixture, std::uint64_t slot) const {
    return mixture_.get() == &mixture && slot >= start_ && slot - start_ < kMixtureBlockSlots;
  }
  [[nodiscard]] const Mixture& mixture() const { return *mixture_; }
  [[nodiscard]] std::uint64_t start() const { return start_; }

  // `draw` is the index of a draw in this block, from 0 to kMixtureBlockSlots - 1.
  [[nodiscard]] std::uint32_t source(std::uint64_t draw) const { return sources_[draw]; }
  // Returns how often source(draw), the source of draw number `draw`, was chosen in all earlier slots of the
  // stream.
  [[nodiscard]] std::uint64_t earlier_draws_of_source(std::uint64_t draw) const {
    return source_draws_before_block(sources_[draw]) + earlier_draws_in_block_[draw];
  }
  // Returns, for each source, how often it was chosen in all slots before draw number `draw`.
  [[nodiscard]] std::vector<std::uint64_t> draw_counts_before(std::uint64_t draw) const;
  // Finds the draw of `source` before which the stream has drawn `source` exactly `count` times. Returns the
  // index of this draw in this block. This block must contain the draw.
  [[nodiscard]] std::uint64_t find_draw(std::uint32_t source, std::uint64_t count) const;

 private:
  [[nodiscard]] std::uint64_t source_draws_before_block(std::size_t source) const {
    return mixture_->draws_before_first_slot[source] + block_index_ * mixture_->weights[source];
  }

  std::shared_ptr<const Mixture> mixture_;
  std::uint64_t block_index_;
  std::uint64_t start_;
  std::vector<std::uint16_t> sources_;
  std::vector<std::uint16_t> earlier_draws_in_block_;  // how often the source was drawn before in this block
};

}  // namespace ratoon::data
