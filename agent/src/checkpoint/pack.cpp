#include "agent/src/checkpoint/pack.h"

#include <algorithm>
#include <vector>

#include "base/contract/fields.h"

namespace ratoon::checkpoint {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kAlignment = 4096;
constexpr std::size_t kHeaderBytesMax = 100'000'000;  // what other readers accept
constexpr int kDepthMax = 6;

std::string little_endian(std::uint64_t value) {
  std::string out(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i) out[i] = static_cast<char>((value >> (8 * i)) & 0xff);
  return out;
}

std::uint64_t read_little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

Error corrupted(const std::string& what) {
  return Error(ErrorKind::kCorrupted, "not a sound pack: " + what);
}

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string name;
};

Result<Range> read_range(const std::string& name, const json& entry) {
  const auto offsets = entry.is_object() ? entry.find("data_offsets") : entry.end();
  bool is_sound = entry.is_object() && entry.contains("dtype") && entry["dtype"] == "U8" &&
                  offsets != entry.end() && offsets->is_array() && offsets->size() == 2 &&
                  (*offsets)[0].is_number_unsigned() && (*offsets)[1].is_number_unsigned();
  if (!is_sound) return corrupted("tensor '" + name + "' is not described as U8 bytes");
  const Range range{(*offsets)[0].get<std::uint64_t>(), (*offsets)[1].get<std::uint64_t>(), name};
  is_sound = entry.contains("shape") && entry["shape"] == json::array({range.end - range.begin});
  if (!is_sound) return corrupted("tensor '" + name + "' is not described as U8 bytes of its own number");
  return range;
}

}  // namespace

std::string encode_pack(const NamedStates& states) {
  json header = json::object();
  std::size_t offset = 0;
  for (const auto& [name, bytes] : states) {
    header[name] = {
        {"dtype", "U8"}, {"shape", {bytes.size()}}, {"data_offsets", {offset, offset + bytes.size()}}};
    offset += bytes.size();
  }
  std::string text = header.dump();
  const std::size_t used = (kLengthBytes + text.size()) % kAlignment;
  if (used != 0) text.append(kAlignment - used, ' ');

  std::string out = little_endian(text.size()) + text;
  out.reserve(out.size() + offset);
  for (const auto& [name, bytes] : states) out += bytes;
  return out;
}

Result<NamedStates> decode_pack(std::string_view bytes) {
  if (bytes.size() < kLengthBytes) return corrupted("it has only " + std::to_string(bytes.size()) + " bytes");
  const std::uint64_t header_bytes = read_little_endian(bytes);
  if (header_bytes > kHeaderBytesMax || header_bytes > bytes.size() - kLengthBytes) {
    return corrupted("its header claims " + std::to_string(header_bytes) + " bytes");
  }
  Result<json> header = parse_json(bytes.substr(kLengthBytes, header_bytes), kHeaderBytesMax, kDepthMax);
  if (!header) return corrupted(header.error().message());
  if (!header->is_object()) return corrupted("its header is not an object");

  std::vector<Range> ranges;
  for (const auto& [name, entry] : header->items()) {
    if (name == "__metadata__") continue;
    auto range = read_range(name, entry);
    if (!range) return range.error();
    ranges.push_back(std::move(*range));
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });

  const std::string_view data = bytes.substr(kLengthBytes + header_bytes);
  NamedStates states;
  std::uint64_t expected = 0;
  for (const auto& range : ranges) {
    if (range.begin != expected || range.end < range.begin || range.end > data.size()) {
      return corrupted("tensor '" + range.name + "' leaves a hole, overlaps or reaches past the end");
    }
    states[range.name] = data.substr(range.begin, range.end - range.begin);
    expected = range.end;
  }
  if (expected != data.size()) return corrupted("bytes follow the last tensor");
  return states;
}

}  // namespace ratoon::checkpoint
