// SampleRandom: the random numbers of one sample in one epoch, for augmentation. The random numbers of a
// sample do not depend on its rank, thread or batch, on earlier draws, or on restarts.
//
//   void augment(ratoon::Sample& sample, ratoon::SampleRandom& random) {
//     if (random.unit_double() < 0.5) flip(sample);
//     crop(sample, random.below(5), random.below(5));
//   }
//
// A data set that draws random numbers while it reads a sample takes them from current_sample_random():
//
//   Example get(std::size_t index) override {
//     const bool is_flipped = ratoon::current_sample_random().unit_double() < 0.5;
//     return read(index, is_flipped);
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

// Returns the generator of the sample that this thread reads. Call current_sample_random() in Dataset::read()
// of a data set that a DataLoader reads, in LoaderOptions::augment of this loader, and in get() or a
// transform of a LibTorch data set that ratoon::torch::batches() reads. The random numbers depend on the
// stream's seed, the epoch and the sample, but not on the number of threads, the batch, the rank or restarts.
// Further calls for the same sample continue with its next random numbers. Outside of a read, throws a
// Failure.
[[nodiscard]] SampleRandom& current_sample_random();

// Returns the key of the random numbers that current_sample_random() gives in a read. Pass the `purpose` of
// LoaderOptions or BatchesOptions. The key differs from the key that sample_random_key() returns for the same
// arguments, so a read and LoaderOptions::augment draw different random numbers.
[[nodiscard]] std::uint64_t read_random_key(std::uint64_t seed, std::string_view purpose,
                                            std::string_view source);

// SampleRandomScope makes `random` the generator that current_sample_random() returns on this thread, until
// the scope is destroyed. Only a program that reads samples without Ratoon's loaders needs a
// SampleRandomScope.
class SampleRandomScope {
 public:
  explicit SampleRandomScope(SampleRandom& random);
  ~SampleRandomScope();
  SampleRandomScope(const SampleRandomScope&) = delete;
  SampleRandomScope& operator=(const SampleRandomScope&) = delete;

 private:
  SampleRandom* const previous_;
};

}  // namespace ratoon
