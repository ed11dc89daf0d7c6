#include "agent/src/board/frame.h"

#include <concepts>

namespace ratoon::board {
namespace {

constexpr std::string_view kMagic = "RTB1";
constexpr std::size_t kHeaderBytes = kMagic.size() + sizeof(std::uint32_t);
constexpr std::size_t kBodyBytesMin = sizeof(std::uint8_t) + sizeof(std::uint64_t);

template <std::unsigned_integral T>
void append_number(std::string& to, T number) {
  for (std::size_t i = 0; i < sizeof(T); ++i) to.push_back(static_cast<char>(number >> 8 * i & 0xff));
}

// `bytes` must be at least as long as the encoded number.
template <std::unsigned_integral T>
T take_number(std::string_view& bytes) {
  T number = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    number |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes[i])) << 8 * i);
  }
  bytes.remove_prefix(sizeof(T));
  return number;
}

Error invalid_frame_error(const std::string& how) {
  return {ErrorKind::kCorrupted,
          "a message (frame) between a rank and rank 0's key-value store is not valid: " + how};
}

}  // namespace

std::string rank_mark_key(std::uint32_t rank) {
  return std::string(kRankMarkPrefix) + std::to_string(rank);
}

std::size_t encoded_size(const Frame& frame) {
  std::size_t size = kHeaderBytes + kBodyBytesMin;
  for (const std::string& word : frame.words) size += sizeof(std::uint32_t) + word.size();
  return size;
}

std::string encode(const Frame& frame) {
  std::string bytes;
  const std::size_t size = encoded_size(frame);
  bytes.reserve(size);
  bytes += kMagic;
  append_number(bytes, static_cast<std::uint32_t>(size - kHeaderBytes));
  append_number(bytes, frame.kind);
  append_number(bytes, frame.attempt);
  for (const std::string& word : frame.words) {
    append_number(bytes, static_cast<std::uint32_t>(word.size()));
    bytes += word;
  }
  return bytes;
}

Result<std::optional<DecodedFrame>> decode(std::string_view bytes, std::size_t frame_bytes_max) {
  // The first four bytes are checked before the rest of the frame arrives, because a client of another
  // protocol may never send a complete head.
  if (!kMagic.starts_with(bytes.substr(0, kMagic.size()))) {
    return invalid_frame_error("frames must begin with '" + std::string(kMagic) +
                               "', found other bytes: the sender is no rank");
  }
  if (bytes.size() < kHeaderBytes) return std::optional<DecodedFrame>();
  std::string_view rest = bytes.substr(kMagic.size());
  const std::size_t size = take_number<std::uint32_t>(rest);
  if (size < kBodyBytesMin || size > frame_bytes_max - kHeaderBytes) {
    return invalid_frame_error("a frame must have " + std::to_string(kBodyBytesMin) + " to " +
                               std::to_string(frame_bytes_max - kHeaderBytes) +
                               " bytes after the head, found " + std::to_string(size));
  }
  if (rest.size() < size) return std::optional<DecodedFrame>();
  rest = rest.substr(0, size);
  DecodedFrame found{.size = kHeaderBytes + size};
  found.frame.kind = take_number<std::uint8_t>(rest);
  found.frame.attempt = take_number<std::uint64_t>(rest);
  while (!rest.empty()) {
    if (found.frame.words.size() == kWordsMax)
      return invalid_frame_error("the frame has more than " + std::to_string(kWordsMax) + " words");
    if (rest.size() < sizeof(std::uint32_t))
      return invalid_frame_error("a frame ends within the size of a word");
    const std::size_t word = take_number<std::uint32_t>(rest);
    if (word > rest.size()) return invalid_frame_error("the frame ends within a word");
    found.frame.words.emplace_back(rest.substr(0, word));
    rest.remove_prefix(word);
  }
  return std::optional<DecodedFrame>(std::move(found));
}

}  // namespace ratoon::board
