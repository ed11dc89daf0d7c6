// States of PyTorch's samplers: Ratoon's states, and states that other packages saved.
#include <cstdlib>
#include <string>

#include <ratoon/failure.h>
#include <ratoon/torch_positions.h>

#include "tests/support/fuzz_targets.h"

namespace ratoon::fuzz {
namespace {

// Each text is refused with a sentence, or is read correctly.
template <class Take>
void take_or_refuse(Take take) {
  try {
    take();
  } catch (const Failure& failure) {
    const std::string sentence = failure.what();
    require(failure.exit_code == 82 && !sentence.empty() && sentence.size() < 1024);
  }
}

void check_place(DistributedSampler sampler, ListPosition position) {
  sampler.seek(position);
  for (const std::uint64_t sample : sampler.fetch(100)) require(sample < sampler.options().samples);
}

template <class Sampler>
void check_state(Sampler sampler, std::string_view bytes) {
  take_or_refuse([&] {
    sampler.load_state(bytes);
    const std::string saved = sampler.save_state();
    require(sampler.remaining() <= sampler.size());
    for (const std::uint64_t sample : sampler.fetch(100)) require(sample < sampler.options().samples);
    sampler.load_state(saved);
    require(sampler.save_state() == saved);
  });
}

}  // namespace

void torch_order(std::string_view bytes) {
  const DistributedSamplerOptions options{
      .samples = 37, .world_size = 4, .rank = 1, .drop_last = bytes.size() % 2 == 0};
  const DistributedSampler sampler(options);
  take_or_refuse([&] { check_place(sampler, position_of_cycling_utils(bytes, options)); });
  take_or_refuse([&] { check_place(sampler, position_of_torchdata(bytes, options, 1, 3)); });
  take_or_refuse([&] { check_place(sampler, position_of_dlrover(bytes, options)); });
  check_state(sampler, bytes);
  RandomSampler random({.samples = 37, .flavour = SamplerFlavour::kTorchdata}, TorchGenerator(1));
  check_state(random, bytes);
  take_or_refuse([&] {
    seek_to_torchdata(random, bytes, 3);
    for (const std::uint64_t sample : random.fetch(100)) require(sample < 37);
  });
  take_or_refuse([&] {
    const TorchGenerator generator = TorchGenerator::from_state(bytes);
    require(TorchGenerator::from_state(generator.state()) == generator);
  });
}

}  // namespace ratoon::fuzz
