// torch.Generator().get_state() returns 5056 bytes, ATen's struct CPUGeneratorImplState as it is in memory on
// x86-64 and arm64. Each 32-bit word of MT19937 takes eight bytes in this state. The bytes after the words of
// MT19937 hold the state for normally distributed numbers.
#include <algorithm>

#include <ratoon/failure.h>
#include <ratoon/torch_random.h>

#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

constexpr std::size_t kSeedAt = 0;
constexpr std::size_t kLeftAt = 8;
constexpr std::size_t kIsSeededAt = 12;
constexpr std::size_t kNextAt = 16;
constexpr std::size_t kWordsAt = 24;

void put(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i) & 0xff);
}

std::uint64_t get(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

[[noreturn]] void refuse_generator(const std::string& why) {
  throw Failure(
      static_cast<int>(ExitCode::kConfiguration),
      "the torch.Generator state is not valid: " + why + ". Pass the bytes that get_state() gave on the CPU");
}

}  // namespace

// ATen's `left` is one more than the number of unused words, so 1 means that no word is left. A generator
// that was seeded and not used yet is at word 0 and has 0 unused words.
std::string TorchGenerator::state() const {
  std::string bytes(kStateBytes, '\0');
  put(bytes, kSeedAt, seed_, 8);
  put(bytes, kLeftAt, used_ == kWords ? 1 : kWords + 1 - used_, 4);
  put(bytes, kIsSeededAt, 1, 4);
  put(bytes, kNextAt, is_fresh_ ? 0 : used_, 8);
  for (std::size_t i = 0; i < kWords; ++i) put(bytes, kWordsAt + 8 * i, words_[i], 8);
  return bytes;
}

TorchGenerator TorchGenerator::from_state(std::string_view bytes) {
  if (bytes.size() != kStateBytes) {
    refuse_generator("the state has " + std::to_string(kStateBytes) + " bytes, but this text has " +
                     std::to_string(bytes.size()));
  }
  const std::uint64_t left = get(bytes, kLeftAt, 4);
  const std::uint64_t next = get(bytes, kNextAt, 8);
  const bool is_fresh = left == 1 && next == 0;
  if (get(bytes, kIsSeededAt, 4) != 1) refuse_generator("the generator was never seeded");
  if (!is_fresh && (next == 0 || next > kWords || left != kWords + 1 - next)) {
    refuse_generator("the generator is at word " + std::to_string(next) + " of " + std::to_string(kWords) +
                     " with " + std::to_string(left) + " left, which is impossible");
  }
  TorchGenerator generator(get(bytes, kSeedAt, 8));
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint64_t word = get(bytes, kWordsAt + 8 * i, 8);
    if (word >> 32 != 0)
      refuse_generator("found " + std::to_string(word) + " as word " + std::to_string(i) + ", above 32 bits");
    generator.words_[i] = static_cast<std::uint32_t>(word);
  }
  generator.used_ = is_fresh ? kWords : static_cast<std::uint32_t>(next);
  generator.is_fresh_ = is_fresh;
  return generator;
}

}  // namespace ratoon
