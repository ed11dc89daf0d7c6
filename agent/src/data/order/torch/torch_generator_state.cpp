// torch.Generator().get_state() returns 5056 bytes, ATen's struct CPUGeneratorImplState as it is in memory on
// x86-64 and arm64. Each 32-bit word of MT19937 takes eight bytes in PyTorch's state. The bytes after the
// words of MT19937 hold the state for normally distributed numbers.
#include <algorithm>

#include <ratoon/failure.h>
#include <ratoon/torch_random.h>

#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

constexpr std::size_t kSeedOffset = 0;
constexpr std::size_t kWordsLeftOffset = 8;
constexpr std::size_t kIsSeededOffset = 12;
constexpr std::size_t kNextWordOffset = 16;
constexpr std::size_t kWordsOffset = 24;

void write_little_endian(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i) & 0xff);
}

std::uint64_t read_little_endian(std::string_view bytes, std::size_t at, std::size_t width) {
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

// ATen's `left` is one more than the number of unused words, so `left` is 1 if no word is unused. `left` is
// also 1 after seeding, although the index of the next word is then 0, because the first draw computes the
// words.
std::string TorchGenerator::state() const {
  std::string bytes(kStateBytes, '\0');
  write_little_endian(bytes, kSeedOffset, seed_, 8);
  write_little_endian(bytes, kWordsLeftOffset, used_words_ == kWords ? 1 : kWords + 1 - used_words_, 4);
  write_little_endian(bytes, kIsSeededOffset, 1, 4);
  write_little_endian(bytes, kNextWordOffset, is_fresh_ ? 0 : used_words_, 8);
  for (std::size_t i = 0; i < kWords; ++i) write_little_endian(bytes, kWordsOffset + 8 * i, words_[i], 8);
  return bytes;
}

TorchGenerator TorchGenerator::from_state(std::string_view bytes) {
  if (bytes.size() != kStateBytes) {
    refuse_generator("expected " + std::to_string(kStateBytes) + " bytes, found " +
                     std::to_string(bytes.size()));
  }
  const std::uint64_t left = read_little_endian(bytes, kWordsLeftOffset, 4);
  const std::uint64_t next = read_little_endian(bytes, kNextWordOffset, 8);
  const bool is_fresh = left == 1 && next == 0;
  if (read_little_endian(bytes, kIsSeededOffset, 4) != 1) refuse_generator("the generator was never seeded");
  if (!is_fresh && (next == 0 || next > kWords || left != kWords + 1 - next)) {
    refuse_generator("the generator is at word " + std::to_string(next) + " of " + std::to_string(kWords) +
                     " with " + std::to_string(left) + " left, which is impossible");
  }
  TorchGenerator generator(read_little_endian(bytes, kSeedOffset, 8));
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint64_t word = read_little_endian(bytes, kWordsOffset + 8 * i, 8);
    if (word >> 32 != 0)
      refuse_generator("found " + std::to_string(word) + " as word " + std::to_string(i) +
                       ", but a word has 32 bits");
    generator.words_[i] = static_cast<std::uint32_t>(word);
  }
  generator.used_words_ = is_fresh ? kWords : static_cast<std::uint32_t>(next);
  generator.is_fresh_ = is_fresh;
  return generator;
}

}  // namespace ratoon
