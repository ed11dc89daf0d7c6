#include "agent/src/board/frame.h"

#include <concepts>

namespace ratoon::board {
namespace {

constexpr std::string_view kMagic = "RTB1";
constexpr std::size_t kHead = kMagic.size() + sizeof(std::uint32_t);
constexpr std::size_t kBodyMin = sizeof(std::uint8_t) + sizeof(std::uint64_t);

template <std::unsigned_integral T>
void put(std::string& to, T number) {
  for (std::size_t i = 0; i < sizeof(T); ++i) to.push_back(static_cast<char>(number >> 8 * i & 0xff));
}

// `bytes` must have at least the size of the number.
template <std::unsigned_integral T>
T take(std::string_view& bytes) {
  T number = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    number |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes[i])) << 8 * i);
  }
  bytes.remove_prefix(sizeof(T));
  return number;
}

Error broken(const std::string& how) {
  return {ErrorKind::kCorrupted,
          "a message (frame) between a rank and rank 0's key-value store is not valid: " + how};
}

}  // namespace

std::string mark_key(std::uint32_t rank) {
  return std::string(kMarkPrefix) + std::to_string(rank);
}

std::size_t size_of(const Frame& frame) {
  std::size_t size = kHead + kBodyMin;
  for (const std::string& word : frame.words) size += sizeof(std::uint32_t) + word.size();
  return size;
}

std::string encode(const Frame& frame) {
  std::string bytes;
  const std::size_t size = size_of(frame);
  bytes.reserve(size);
  bytes += kMagic;
  put(bytes, static_cast<std::uint32_t>(size - kHead));
  put(bytes, frame.kind);
  put(bytes, frame.attempt);
  for (const std::string& word : frame.words) {
    put(bytes, static_cast<std::uint32_t>(word.size()));
    bytes += word;
  }
  return bytes;
}

Result<std::optional<Decoded>> decode(std::string_view bytes, std::size_t frame_max) {
  // The first four bytes are checked before the rest of the frame arrives, because a client of another
  // protocol may never send a complete head.
  if (!kMagic.starts_with(bytes.substr(0, kMagic.size()))) {
    return broken("frames must begin with '" + std::string(kMagic) + "', found other bytes: no rank sent it");
  }
  if (bytes.size() < kHead) return std::optional<Decoded>();
  std::string_view rest = bytes.substr(kMagic.size());
  const std::size_t size = take<std::uint32_t>(rest);
  if (size < kBodyMin || size > frame_max - kHead) {
    return broken("a frame must have " + std::to_string(kBodyMin) + " to " +
                  std::to_string(frame_max - kHead) + " bytes after the head, found " + std::to_string(size));
  }
  if (rest.size() < size) return std::optional<Decoded>();
  rest = rest.substr(0, size);
  Decoded found{.size = kHead + size};
  found.frame.kind = take<std::uint8_t>(rest);
  found.frame.attempt = take<std::uint64_t>(rest);
  while (!rest.empty()) {
    if (found.frame.words.size() == kWordsMax)
      return broken("the frame has more than " + std::to_string(kWordsMax) + " words");
    if (rest.size() < sizeof(std::uint32_t)) return broken("a frame ends within the size of a word");
    const std::size_t word = take<std::uint32_t>(rest);
    if (word > rest.size()) return broken("the frame ends within a word");
    found.frame.words.emplace_back(rest.substr(0, word));
    rest.remove_prefix(word);
  }
  return std::optional<Decoded>(std::move(found));
}

}  // namespace ratoon::board
