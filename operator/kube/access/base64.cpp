#include "operator/kube/access/base64.h"

#include <algorithm>
#include <cstdint>

namespace ratoon::kube {
namespace {

// Returns the six bits that the base64 character stands for, or -1.
int base64_value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

}  // namespace

Result<std::string> decode_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t group = 0;
  int characters = 0;
  int padding = 0;
  for (const char c : text) {
    if (is_space(c)) continue;
    const int bits = c == '=' ? 0 : base64_value_of(c);
    if (c == '=') ++padding;
    if (bits < 0 || (c != '=' && padding > 0) || padding > 2 || (c == '=' && characters < 2))
      return Error(ErrorKind::kInvalid, "not base64: it has a character that base64 does not allow");
    group = (group << 6U) | static_cast<std::uint32_t>(bits);
    if (++characters < 4) continue;
    for (int shift = 16; shift >= 8 * padding; shift -= 8)
      bytes.push_back(static_cast<char>((group >> static_cast<unsigned>(shift)) & 0xFFU));
    characters = 0;
    group = 0;
  }
  if (characters != 0) return Error(ErrorKind::kInvalid, "not base64: its length is not a multiple of four");
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t there = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8U | (i < there ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += i <= there ? kLetters[bits >> (18 - 6 * i) & 63U] : '=';
  }
  return text;
}

}  // namespace ratoon::kube
