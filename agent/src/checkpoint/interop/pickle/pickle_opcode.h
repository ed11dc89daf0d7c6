// The opcodes of pickles that a file of tensors and plain containers needs.
#pragma once

#include <cstdint>
#include <string>

namespace ratoon::checkpoint {

namespace opcode {

inline constexpr std::uint8_t kProto = 0x80;
inline constexpr std::uint8_t kStop = '.';
inline constexpr std::uint8_t kMark = '(';
inline constexpr std::uint8_t kNone = 'N';
inline constexpr std::uint8_t kTrue = 0x88;
inline constexpr std::uint8_t kFalse = 0x89;
inline constexpr std::uint8_t kInt1 = 'K';     // 1 byte, unsigned
inline constexpr std::uint8_t kInt2 = 'M';     // 2 bytes, unsigned
inline constexpr std::uint8_t kInt4 = 'J';     // 4 bytes, signed
inline constexpr std::uint8_t kLong = 0x8a;    // its number of bytes, then two's complement
inline constexpr std::uint8_t kFloat = 'G';    // 8 bytes, big-endian
inline constexpr std::uint8_t kUnicode = 'X';  // 4 bytes of length, then UTF-8
inline constexpr std::uint8_t kEmptyTuple = ')';
inline constexpr std::uint8_t kTuple = 't';
inline constexpr std::uint8_t kTuple1 = 0x85;
inline constexpr std::uint8_t kTuple2 = 0x86;
inline constexpr std::uint8_t kTuple3 = 0x87;
inline constexpr std::uint8_t kEmptyList = ']';
inline constexpr std::uint8_t kAppend = 'a';
inline constexpr std::uint8_t kAppends = 'e';
inline constexpr std::uint8_t kEmptyDict = '}';
inline constexpr std::uint8_t kSetItem = 's';
inline constexpr std::uint8_t kSetItems = 'u';
inline constexpr std::uint8_t kGlobal = 'c';  // two lines: module and name
inline constexpr std::uint8_t kReduce = 'R';  // a call; the reader admits calls of a few names
inline constexpr std::uint8_t kBuild = 'b';
inline constexpr std::uint8_t kPersistentId = 'Q';
inline constexpr std::uint8_t kPut = 'q';      // stores in the memo; 1 byte of index
inline constexpr std::uint8_t kLongPut = 'r';  // 4 bytes
inline constexpr std::uint8_t kGet = 'h';
inline constexpr std::uint8_t kLongGet = 'j';

}  // namespace opcode

// Returns text for an error about an opcode that Ratoon does not read: its name in Python's pickletools, or
// "unknown", and its number.
[[nodiscard]] std::string name_of_opcode(std::uint8_t code);

}  // namespace ratoon::checkpoint
