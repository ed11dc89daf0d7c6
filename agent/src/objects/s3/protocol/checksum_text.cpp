#include "agent/src/objects/s3/protocol/checksum_text.h"

#include <span>
#include <string_view>

#include "base/core/crc32c.h"

namespace ratoon::objects {
namespace {

constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string checksum_text(std::uint32_t crc32c) {
  // A base64 digit holds six bits. The first 30 of the 32 bits give five base64 digits. The sixth base64
  // digit holds the last two bits and four zero bits.
  std::string text;
  for (const int shift : {26, 20, 14, 8, 2}) text += kBase64Digits[(crc32c >> shift) & 63];
  text += kBase64Digits[(crc32c & 3) << 4];
  return text + "==";
}

std::string composite_checksum_text(const std::vector<std::uint32_t>& crc32c_of_parts) {
  std::string bytes;
  for (const std::uint32_t crc : crc32c_of_parts) {
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(crc >> shift & 255);
  }
  return checksum_text(crc32c(std::as_bytes(std::span(bytes)))) + '-' +
         std::to_string(crc32c_of_parts.size());
}

}  // namespace ratoon::objects
