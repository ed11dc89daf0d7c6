// Defines the protocol between ranks and the board, a key-value store at rank 0. A request is one frame, and
// its answer is one frame. All numbers in frames are little-endian.
//
//   4 bytes "RTB1" | u32 size of the rest | u8 kind | u64 attempt | for each word: u32 size, its bytes
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <ratoon/result.h>

namespace ratoon::board {

inline constexpr std::size_t kFrameBytesMax = std::size_t{16} << 20;  // with its head
// The number of words in a frame is limited, because a decoded frame of many empty words needs much more
// memory than the encoded frame.
inline constexpr std::size_t kWordsMax = std::size_t{1} << 16;

// Op lists the requests of a rank, each with its arguments (words). The numbers of Op and Status are
// distinct, so that a socket that is connected to itself is detected.
enum class Op : std::uint8_t {
  kSet = 1,     // key, value
  kGet = 2,     // keys; answered with their values once all are there
  kWait = 3,    // keys; answered with nothing once all are there
  kCheck = 4,   // keys; answered with "1" if all are there, else "0"
  kAdd = 5,     // key, number; answered with the sum, which is stored in decimal
  kAppend = 6,  // key, text to append to its value
  kErase = 7,   // key; answered with "1" if it was there, else "0"
  kCount = 8,   // answered with the number of keys
  kMark = 9,    // value; the key is rank_mark_key() of the rank that asks
  // A client sends kHello and kProve before all other requests (handshake.h).
  kHello = 16,  // rank, nonce; answered with kChallenge
  kProve = 17,  // proof; answered with nothing
};

enum class Status : std::uint8_t {
  kDone = 128,
  kOver = 129,       // a newer attempt has begun; its number is the word
  kRefused = 130,    // the word is the reason
  kChallenge = 131,  // nonce, proof
};

// kRankMarkPrefix begins the key of each rank's mark. A mark is a value that only its own rank can set, with
// the request kMark.
inline constexpr std::string_view kRankMarkPrefix = "mark ";
[[nodiscard]] std::string rank_mark_key(std::uint32_t rank);

struct Frame {
  std::uint8_t kind = 0;
  std::uint64_t attempt = 0;
  std::vector<std::string> words;

  friend bool operator==(const Frame&, const Frame&) = default;
};

[[nodiscard]] inline Frame make_frame(Op op, std::uint64_t attempt, std::vector<std::string> words) {
  return {static_cast<std::uint8_t>(op), attempt, std::move(words)};
}
[[nodiscard]] inline Frame make_frame(Status status, std::uint64_t attempt, std::vector<std::string> words) {
  return {static_cast<std::uint8_t>(status), attempt, std::move(words)};
}

// encoded_size() returns the size in bytes of the result of encode().
[[nodiscard]] std::size_t encoded_size(const Frame& frame);
[[nodiscard]] std::string encode(const Frame& frame);

struct DecodedFrame {
  Frame frame;
  std::size_t size = 0;  // of its bytes
};

// Decodes the first frame of `bytes`. Returns nothing if the frame is not complete yet, but may still become
// a valid frame of at most `frame_bytes_max` bytes.
[[nodiscard]] Result<std::optional<DecodedFrame>> decode(std::string_view bytes,
                                                         std::size_t frame_bytes_max = kFrameBytesMax);

// Reads a whole number in decimal. Returns nothing if the text is not a whole number.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, problem] = std::from_chars(text.data(), end, number);
  return at == end && problem == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace ratoon::board
