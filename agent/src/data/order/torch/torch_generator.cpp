// TorchGenerator is Matsumoto and Nishimura's generator MT19937, as in ATen. The generator gives the same
// numbers as std::mt19937. This file implements the algorithm itself, so that the compiler can vectorise the
// loops over whole blocks of numbers.
#include <algorithm>

#include <ratoon/torch_random.h>

namespace ratoon {
namespace {

constexpr std::size_t kWords = 624;
constexpr std::size_t kTwistDistance = 397;

constexpr std::uint32_t twist(std::uint32_t one, std::uint32_t next) {
  const std::uint32_t mixed = (one & 0x80000000U) | (next & 0x7fffffffU);
  return (mixed >> 1) ^ ((0U - (next & 1U)) & 0x9908b0dfU);
}

constexpr std::uint32_t temper(std::uint32_t word) {
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680U;
  word ^= (word << 15) & 0xefc60000U;
  return word ^ (word >> 18);
}

}  // namespace

TorchGenerator::TorchGenerator(std::uint64_t seed) : seed_(seed) {
  words_[0] = static_cast<std::uint32_t>(seed);
  for (std::uint32_t i = 1; i < kWords; ++i) {
    words_[i] = 1812433253U * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
  }
}

void TorchGenerator::make_words() {
  for (std::size_t i = 0; i < kWords - kTwistDistance; ++i)
    words_[i] = words_[i + kTwistDistance] ^ twist(words_[i], words_[i + 1]);
  for (std::size_t i = kWords - kTwistDistance; i + 1 < kWords; ++i)
    words_[i] = words_[i + kTwistDistance - kWords] ^ twist(words_[i], words_[i + 1]);
  words_[kWords - 1] = words_[kTwistDistance - 1] ^ twist(words_[kWords - 1], words_[0]);
  used_words_ = 0;
  is_fresh_ = false;
}

std::uint32_t TorchGenerator::random() {
  if (used_words_ == kWords) make_words();
  return temper(words_[used_words_++]);
}

std::uint64_t TorchGenerator::random64() {
  const std::uint64_t high = random();
  return high << 32 | random();
}

std::uint64_t TorchGenerator::draw_seed() {
  return random64() & ~(std::uint64_t{1} << 63);
}

void TorchGenerator::fill(std::span<std::uint32_t> numbers) {
  while (!numbers.empty()) {
    if (used_words_ == kWords) make_words();
    const std::size_t count = std::min<std::size_t>(numbers.size(), kWords - used_words_);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = temper(words_[used_words_ + i]);
    used_words_ += static_cast<std::uint32_t>(count);
    numbers = numbers.subspan(count);
  }
}

void TorchGenerator::discard(std::uint64_t numbers) {
  while (numbers > kWords - used_words_) {
    numbers -= kWords - used_words_;
    make_words();
  }
  used_words_ += static_cast<std::uint32_t>(numbers);
}

bool operator==(const TorchGenerator& one, const TorchGenerator& other) {
  return one.used_words_ == other.used_words_ && one.words_ == other.words_;
}

}  // namespace ratoon
