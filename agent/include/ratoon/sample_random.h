// SampleRandom: the random numbers of one sample in one epoch, for augmentation. They depend on nothing else:
// not on the rank or thread that reads the sample, nor on its batch, nor on what was drawn before, nor on
// restarts.
//
//   void augment(ratoon::Sample& sample, ratoon::SampleRandom& random) {
//     if (random.unit_double() < 0.5) flip(sample);
//     crop(sample, random.below(5), random.below(5));
//   }
#pragma once

#include <cstdint>
#include <string_view>

#include <ratoon/counter_random.h>

namespace ratoon {

using SampleRandom = CounterRandom;

// What is the same for all samples of a source. `purpose` tells apart what draws for different ends
// ("augment", "val"); `source` is the name that the stream has for it.
[[nodiscard]] constexpr std::uint64_t sample_random_key(std::uint64_t seed, std::string_view purpose,
                                                        std::string_view source) {
  return hash64(hash64(hash64(seed, "ratoon sample 1"), purpose), source);
}

// The numbers are frozen. docs/reference/stream.md has the rule; sample_random_test.cpp has the vectors of a
// second program that was written from that page.
[[nodiscard]] constexpr SampleRandom sample_random(std::uint64_t key, std::uint64_t epoch,
                                                   std::uint64_t sample) {
  return SampleRandom::with_key(mix_into(key, epoch >> 32), sample, static_cast<std::uint32_t>(epoch));
}

}  // namespace ratoon
