#include "agent/src/checkpoint/interop/zip/zip_reader.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <string_view>

#include "agent/src/checkpoint/interop/little_endian.h"
#include "agent/src/checkpoint/interop/quoted.h"
#include "agent/src/checkpoint/interop/zip/crc32.h"
#include "agent/src/checkpoint/interop/zip/zip_directory.h"
#include "agent/src/checkpoint/interop/zip/zip_format.h"

namespace ratoon::checkpoint {
namespace {

using Bytes = std::span<const std::byte>;
using zip::damaged_zip_error;
using zip::Entry;

bool has_descriptor(const Entry& entry) {
  return (entry.flags & zip::kHasDescriptor) != 0;
}

// Compares the header before a record's data with the directory. If a data descriptor follows the data,
// ignores placeholder values in the header.
Result<void> compare_header(Bytes header, Bytes extra, const Entry& entry) {
  const auto contradicted = [&](const std::string& what) {
    return damaged_zip_error("the header of record " + quoted(entry.name) + " has another " + what +
                             " than the directory");
  };
  if (get<std::uint16_t>(header, 6) != entry.flags) return contradicted("set of flags");
  if (get<std::uint16_t>(header, 8) != 0) return contradicted("method");
  const auto found = zip::find_zip64_field(extra, entry.name);
  if (!found) return found.error();
  const auto crc = get<std::uint32_t>(header, 14);
  if (crc != entry.crc && !(has_descriptor(entry) && crc == 0)) return contradicted("checksum");
  for (const std::size_t which : {0u, 1u}) {
    std::uint64_t size_bytes = get<std::uint32_t>(header, 18 + 4 * which);
    if (has_descriptor(entry) && (size_bytes == 0 || size_bytes == zip::kIsInZip64Field)) continue;
    if (size_bytes == zip::kIsInZip64Field && found->size() >= 16)
      size_bytes = get<std::uint64_t>(*found, 8 * which);
    if (size_bytes != entry.size_bytes) return contradicted("size");
  }
  return {};
}

// Checks the bytes between a record's data and the next record: a data descriptor, or no bytes.
Result<void> compare_descriptor(Bytes rest, const Entry& entry) {
  const auto matches_zip64_number = [&]<class Size>(Size) {
    return rest.size() == 8 + 2 * sizeof(Size) && get<std::uint32_t>(rest) == zip::kDataDescriptorSignature &&
           get<std::uint32_t>(rest, 4) == entry.crc && get<Size>(rest, 8) == entry.size_bytes &&
           get<Size>(rest, 8 + sizeof(Size)) == entry.size_bytes;
  };
  const bool is_sound = has_descriptor(entry)
                            ? matches_zip64_number(std::uint32_t{0}) || matches_zip64_number(std::uint64_t{0})
                            : rest.empty();
  if (is_sound) return {};
  return damaged_zip_error("the bytes after record " + quoted(entry.name) +
                           " are neither its data descriptor nor the next record");
}

// Returns the data of a record. The record's header, data and descriptor must fill the file up to the offset
// `end`.
Result<Bytes> find_data(Bytes file, const Entry& entry, std::uint64_t end) {
  const Bytes whole = file.subspan(entry.offset, end - entry.offset);
  if (whole.size() < zip::kLocalHeaderBytes || get<std::uint32_t>(whole) != zip::kLocalHeaderSignature)
    return damaged_zip_error("record " + quoted(entry.name) + " is not at the offset in the directory");
  const std::uint64_t name_bytes = get<std::uint16_t>(whole, 26);
  const std::uint64_t extra_bytes = get<std::uint16_t>(whole, 28);
  const Bytes behind = whole.subspan(zip::kLocalHeaderBytes);
  if (behind.size() < name_bytes + extra_bytes || behind.size() - name_bytes - extra_bytes < entry.size_bytes)
    return damaged_zip_error("record " + quoted(entry.name) + " reaches into the bytes that follow it");
  if (std::string_view(reinterpret_cast<const char*>(behind.data()), name_bytes) != entry.name)
    return damaged_zip_error("record " + quoted(entry.name) + " has another name in its own header");
  if (auto same = compare_header(whole, behind.subspan(name_bytes, extra_bytes), entry); !same)
    return same.error();
  const Bytes data = behind.subspan(name_bytes + extra_bytes);
  if (auto same = compare_descriptor(data.subspan(entry.size_bytes), entry); !same) return same.error();
  return data.first(entry.size_bytes);
}

}  // namespace

Result<std::vector<ZipRecord>> read_zip(Bytes file) {
  auto directory = zip::read_directory(file);
  if (!directory) return directory.error();
  auto& entries = directory->entries;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
  if (!entries.empty() && entries.front().offset != 0)
    return damaged_zip_error("bytes come before the first record");

  std::set<std::string_view> names;
  std::vector<ZipRecord> records;
  records.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    const std::uint64_t end = i + 1 < entries.size() ? entries[i + 1].offset : directory->offset;
    if (end > directory->offset || entry.offset >= end)
      return damaged_zip_error("record " + quoted(entry.name) + " overlaps another record or the directory");
    if (!names.insert(entry.name).second)
      return damaged_zip_error("the file has two records of the name " + quoted(entry.name));
    const auto data = find_data(file, entry, end);
    if (!data) return data.error();
    records.push_back({.name = entry.name, .bytes = *data, .crc = entry.crc});
  }
  if (records.empty() && directory->offset != 0)
    return damaged_zip_error("the file has bytes before its directory and no record");
  return records;
}

Result<void> verify(const ZipRecord& record) {
  const std::uint32_t found = crc32(record.bytes);
  if (found == record.crc) return {};
  std::array<char, 64> sums{};
  std::snprintf(sums.data(), sums.size(), "%08x, and the file says %08x", found, record.crc);
  return damaged_zip_error("record " + quoted(record.name) + " has the checksum " + sums.data());
}

}  // namespace ratoon::checkpoint
