// SampleRandom: the random numbers of one sample in one epoch, for augmentation. The random numbers of a
// sample do not depend on its rank, thread or batch, on earlier draws, or on restarts.
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

// Returns the key from which the random numbers of all samples of one source are computed. Each `purpose`,
// such as "augment" or "val", has its own random numbers. `source` is the name of the source in the stream.
[[nodiscard]] constexpr std::uint64_t sample_random_key(std::uint64_t seed, std::string_view purpose,
                                                        std::string_view source) {
  return hash64(hash64(hash64(seed, "ratoon sample 1"), purpose), source);
}

// All releases of Ratoon give a sample the same random numbers. The expected numbers in
// sample_random_test.cpp come from a second implementation, written from docs/reference/stream.md.
[[nodiscard]] constexpr SampleRandom sample_random(std::uint64_t key, std::uint64_t epoch,
                                                   std::uint64_t sample) {
  return SampleRandom::with_key(mix_into(key, epoch >> 32), sample, static_cast<std::uint32_t>(epoch));
}

}  // namespace ratoon
