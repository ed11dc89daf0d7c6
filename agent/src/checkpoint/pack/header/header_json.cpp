#include "agent/src/checkpoint/pack/header/header_json.h"

#include <algorithm>
#include <array>
#include <vector>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/safetensors_types.h"
#include "base/core/utf8.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

void append_escaped(std::string& out, char c) {
  constexpr std::string_view kNamed = "\"\"\\\\\bb\ff\nn\rr\tt";  // pairs: a character and its escape letter
  for (std::size_t i = 0; i < kNamed.size(); i += 2) {
    if (c == kNamed[i]) {
      out.append("\\").append(1, kNamed[i + 1]);
      return;
    }
  }
  const auto code = static_cast<unsigned char>(c);
  out.append("\\u00").append(1, kHexDigits[code >> 4]).append(1, kHexDigits[code & 0xf]);
}

bool needs_no_escape(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

void append_text(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const auto plain =
        static_cast<std::size_t>(std::ranges::find_if_not(text, needs_no_escape) - text.begin());
    out.append(text.substr(0, plain));
    if (plain == text.size()) return;
    append_escaped(out, text[plain]);
    text.remove_prefix(plain + 1);
  }
}

void append_hex(std::string& out, std::uint64_t value, std::size_t digits) {
  std::array<char, 16> text{};
  for (std::size_t i = 0; i < digits; ++i) text[i] = kHexDigits[(value >> (4 * (digits - 1 - i))) & 0xf];
  out.append(text.data(), digits);
}

void append_boxes(std::string& out, const PackLayout& layout) {
  std::vector<const PackedTensor*> parts;
  for (const auto& tensor : layout.tensors) {
    if (tensor.box) parts.push_back(&tensor);
  }
  std::ranges::sort(parts, {}, [](const PackedTensor* part) -> const std::string& { return part->name; });
  for (const PackedTensor* part : parts) {
    out.append("\"").append(kBoxKey);
    append_text(out, part->name);
    out.append("\":\"").append(to_text(*part->box)).append("\",");
  }
}

void append_tensor(std::string& out, const PackedTensor& tensor) {
  if (out.back() != '{') out += ',';
  out += '"';
  append_text(out, tensor.name);
  out.append("\":{\"dtype\":\"").append(safetensors_name(tensor.type));
  out.append("\",\"shape\":[").append(to_text(tensor.shape));
  out.append("],\"data_offsets\":[").append(std::to_string(tensor.begin)).append(",");
  out.append(std::to_string(tensor.end)).append("]}");
}

}  // namespace

bool is_utf8(std::string_view text) {
  return ratoon::is_utf8(std::as_bytes(std::span(text)));
}

std::string header_json(const PackLayout& layout, std::span<const std::uint32_t> block_crcs,
                        std::span<const Hash128> hashes) {
  std::string out;
  out.reserve(block_crcs.size() * kCrcDigits + hashes.size() * kHashDigits + layout.tensors.size() * 100 +
              256);
  out.append("{\"").append(kMetadataKey).append("\":{");
  append_boxes(out, layout);
  out.append("\"").append(kBlocksKey).append("\":\"");
  for (const std::uint32_t crc : block_crcs) append_hex(out, crc, kCrcDigits);
  out.append("\",\"").append(kFormatKey).append("\":\"").append(kPackFormat);
  if (!layout.owner.empty()) {
    out.append("\",\"").append(kOwnerKey).append("\":\"");
    append_text(out, layout.owner);
  }
  out.append("\",\"").append(kHashesKey).append("\":\"");
  for (const Hash128& hash : hashes) {
    append_hex(out, hash.high, kHashDigits / 2);
    append_hex(out, hash.low, kHashDigits / 2);
  }
  out += "\"}";
  for (const auto& tensor : layout.tensors) append_tensor(out, tensor);
  out += '}';
  return out;
}

std::string plain_header_json(const PackLayout& layout, const std::map<std::string, std::string>& metadata) {
  std::string out = "{";
  if (!metadata.empty()) {
    out.append("\"").append(kMetadataKey).append("\":{");
    for (const auto& [key, value] : metadata) {
      if (out.back() != '{') out += ',';
      out += '"';
      append_text(out, key);
      out += "\":\"";
      append_text(out, value);
      out += '"';
    }
    out += '}';
  }
  for (const auto& tensor : layout.tensors) append_tensor(out, tensor);
  out += '}';
  return out;
}

}  // namespace ratoon::checkpoint
