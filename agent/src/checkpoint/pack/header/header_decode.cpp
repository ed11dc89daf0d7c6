#include <algorithm>
#include <charconv>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/header.h"
#include "agent/src/checkpoint/pack/header/header_entries.h"
#include "agent/src/checkpoint/pack/header/header_json.h"
#include "agent/src/checkpoint/pack/header/safetensors_types.h"

namespace ratoon::checkpoint {
namespace {

Result<PackedTensor> read_tensor(TensorEntry& entry) {
  const std::string tensor = "tensor " + in_quotes(entry.name);
  const auto type = element_type_named(entry.type_name);
  if (!type) {
    return Error(ErrorKind::kInvalid, tensor + " is of type " + in_quotes(entry.type_name) +
                                          ", which this version does not read; take it out of the file, or "
                                          "convert it");
  }
  const std::uint64_t begin = entry.offsets[0];
  const std::uint64_t end = entry.offsets[1];
  const auto bytes = count_bytes(*type, entry.shape);
  if (!bytes) {
    return invalid_pack_error(tensor + " of type " + entry.type_name + " has the shape " +
                              to_text(entry.shape) +
                              ", which overflows: its lengths other than 0 give more than 2^63 - 1 bytes");
  }
  if (end < begin || *bytes != end - begin) {
    return invalid_pack_error(tensor + " of type " + entry.type_name + " and shape " + to_text(entry.shape) +
                              " has data_offsets from " + std::to_string(begin) + " to " +
                              std::to_string(end) + ", which do not match its shape");
  }
  return PackedTensor{std::move(entry.name), *type, std::move(entry.shape), std::nullopt, begin, end};
}

// A tensor that has no bytes begins at the same byte as the next tensor. Tensors that begin at the same byte
// are ordered by storage_order() of their type, and then by name.
bool is_stored_before(const PackedTensor& a, const PackedTensor& b) {
  const int rank_a = storage_order(a.type);
  const int rank_b = storage_order(b.type);
  return std::tie(a.begin, a.end, rank_b, a.name) < std::tie(b.begin, b.end, rank_a, b.name);
}

Result<void> check_ranges(const PackLayout& layout) {
  std::unordered_set<std::string_view> names(layout.tensors.size());
  std::uint64_t expected = 0;
  for (const auto& tensor : layout.tensors) {
    if (!names.insert(tensor.name).second)
      return invalid_pack_error("two tensors are called " + in_quotes(tensor.name));
    if (tensor.begin != expected) {
      return invalid_pack_error("tensor " + in_quotes(tensor.name) + " begins at " +
                                std::to_string(tensor.begin) + ", and the tensor before it ends at " +
                                std::to_string(expected));
    }
    expected = tensor.end;
  }
  if (expected != layout.data_bytes) {
    return invalid_pack_error("the tensors end at " + std::to_string(expected) + ", and the data at " +
                              std::to_string(layout.data_bytes));
  }
  return {};
}

Result<PackLayout> read_layout(std::vector<TensorEntry>& entries, std::uint64_t header_bytes,
                               std::uint64_t file_bytes) {
  PackLayout layout{.tensors = {}, .header_bytes = header_bytes, .data_bytes = file_bytes - header_bytes};
  layout.tensors.reserve(entries.size());
  for (auto& entry : entries) {
    auto tensor = read_tensor(entry);
    if (!tensor) return tensor.error();
    layout.tensors.push_back(std::move(*tensor));
  }
  if (!std::ranges::is_sorted(layout.tensors, is_stored_before))
    std::ranges::sort(layout.tensors, is_stored_before);
  if (auto checked = check_ranges(layout); !checked) return checked.error();
  return layout;
}

// Parses lower-case hexadecimal digits without a sign.
template <class Number>
bool read_hex(std::string_view digits, Number& number) {
  const bool is_lower = std::ranges::none_of(digits, [](char c) { return c < '0' || (c > '9' && c < 'a'); });
  const char* const end = digits.data() + digits.size();
  return is_lower && std::from_chars(digits.data(), end, number, 16).ptr == end;
}

Result<std::vector<std::uint32_t>> read_crcs(std::string_view text, std::uint64_t blocks) {
  if (text.size() != blocks * kCrcDigits) {
    return invalid_pack_error("found checksums of " + std::to_string(text.size()) + " digits for " +
                              std::to_string(blocks) + " blocks of data, expected 8 digits per block");
  }
  std::vector<std::uint32_t> crcs(blocks);
  for (std::size_t i = 0; i < crcs.size(); ++i) {
    if (!read_hex(text.substr(i * kCrcDigits, kCrcDigits), crcs[i]))
      return invalid_pack_error("the checksum of block " + std::to_string(i) +
                                " is not 8 hexadecimal digits");
  }
  return crcs;
}

Result<std::vector<Hash128>> read_hashes(std::string_view text, std::size_t tensors) {
  if (text.size() != tensors * kHashDigits) {
    return invalid_pack_error("found hashes of " + std::to_string(text.size()) + " digits for " +
                              std::to_string(tensors) + " tensors, expected 32 digits per tensor");
  }
  std::vector<Hash128> hashes(tensors);
  for (std::size_t i = 0; i < tensors; ++i) {
    const std::string_view digits = text.substr(i * kHashDigits, kHashDigits);
    const std::size_t half = kHashDigits / 2;
    if (!read_hex(digits.substr(0, half), hashes[i].high) || !read_hex(digits.substr(half), hashes[i].low))
      return invalid_pack_error("the hash of tensor " + std::to_string(i) + " is not 32 hexadecimal digits");
  }
  return hashes;
}

using Metadata = std::unordered_map<std::string_view, std::string_view>;

Result<void> read_boxes(Metadata& metadata, PackLayout& layout) {
  for (auto& tensor : layout.tensors) {
    const auto entry = metadata.find(std::string(kBoxKey) + tensor.name);
    if (entry == metadata.end()) continue;
    tensor.box = parse_box(entry->second);
    if (!tensor.box || !box_holds(*tensor.box, tensor.shape) ||
        !count_bytes(tensor.type, tensor.box->whole_shape)) {
      return invalid_pack_error("tensor " + in_quotes(tensor.name) + " of shape " + to_text(tensor.shape) +
                                " has the box " + in_quotes(entry->second) +
                                ", which is malformed or does not hold it");
    }
    metadata.erase(entry);
  }
  return {};
}

Result<std::string_view> take_entry_text(Metadata& metadata, std::string_view key) {
  const auto entry = metadata.find(key);
  if (entry == metadata.end()) return invalid_pack_error("the metadata lacks " + std::string(key));
  const std::string_view value = entry->second;
  metadata.erase(entry);
  return value;
}

Result<PackHeader> read_ratoon_header(HeaderEntries& syntax, PackLayout layout) {
  Metadata metadata;
  for (const auto& [key, value] : syntax.metadata) {
    if (!metadata.emplace(key, value).second)
      return invalid_pack_error("the metadata has " + in_quotes(key) + " twice");
  }
  const auto format = take_entry_text(metadata, kFormatKey);
  if (!format) return format.error();
  if (*format != kPackFormat) {
    return Error(ErrorKind::kInvalid, "the pack is of format " + in_quotes(*format) +
                                          ", and this version reads " + std::string(kPackFormat) +
                                          "; use the Ratoon that wrote it");
  }
  if (layout.header_bytes % kDataAlignment != 0)
    return invalid_pack_error("the data begins at " + std::to_string(layout.header_bytes) +
                              ", expected a multiple of " + std::to_string(kDataAlignment));

  const auto crc_text = take_entry_text(metadata, kBlocksKey);
  if (!crc_text) return crc_text.error();
  const auto hash_text = take_entry_text(metadata, kHashesKey);
  if (!hash_text) return hash_text.error();
  auto crcs = read_crcs(*crc_text, layout.block_count());
  if (!crcs) return crcs.error();
  auto hashes = read_hashes(*hash_text, layout.tensors.size());
  if (!hashes) return hashes.error();
  if (auto boxes = read_boxes(metadata, layout); !boxes) return boxes.error();
  if (metadata.contains(kOwnerKey)) layout.owner = *take_entry_text(metadata, kOwnerKey);
  if (!metadata.empty())
    return invalid_pack_error("the metadata has the unknown key " + in_quotes(metadata.begin()->first));
  return PackHeader{std::move(layout), std::move(*crcs), std::move(*hashes)};
}

Result<HeaderEntries> read_text(std::string_view header, std::uint64_t file_bytes) {
  const auto header_bytes = header_bytes_of(header, file_bytes);
  if (!header_bytes) return header_bytes.error();
  if (header.size() != *header_bytes) {
    return invalid_pack_error("the header has " + std::to_string(*header_bytes) + " bytes, and " +
                              std::to_string(header.size()) + " were read");
  }
  const std::string_view json = header.substr(kHeaderLengthBytes);
  if (json.empty() || json.front() != '{') return invalid_pack_error("the header does not begin with {");
  return parse_header_entries(json);
}

}  // namespace

Result<std::uint64_t> header_bytes_of(std::string_view first_bytes, std::uint64_t file_bytes) {
  if (first_bytes.size() < kHeaderLengthBytes || file_bytes < kHeaderLengthBytes)
    return invalid_pack_error("the file has only " +
                              std::to_string(std::min<std::uint64_t>(first_bytes.size(), file_bytes)) +
                              " bytes");
  std::uint64_t json_bytes = 0;
  for (std::size_t i = kHeaderLengthBytes; i-- > 0;)
    json_bytes = json_bytes << 8 | static_cast<unsigned char>(first_bytes[i]);
  if (json_bytes > kHeaderJsonBytesMax || json_bytes > file_bytes - kHeaderLengthBytes) {
    return invalid_pack_error("the header claims " + std::to_string(json_bytes) +
                              " bytes, and the file has " + std::to_string(file_bytes));
  }
  return kHeaderLengthBytes + json_bytes;
}

Result<PackHeader> decode_header(std::string_view header, std::uint64_t file_bytes) {
  auto syntax = read_text(header, file_bytes);
  if (!syntax) return syntax.error();
  auto layout = read_layout(syntax->tensors, header.size(), file_bytes);
  if (!layout) return layout.error();
  return read_ratoon_header(*syntax, std::move(*layout));
}

Result<PackLayout> decode_foreign_header(std::string_view header, std::uint64_t file_bytes) {
  auto syntax = read_text(header, file_bytes);
  if (!syntax) return syntax.error();
  return read_layout(syntax->tensors, header.size(), file_bytes);
}

}  // namespace ratoon::checkpoint
