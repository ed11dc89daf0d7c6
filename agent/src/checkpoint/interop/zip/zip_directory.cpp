#include "agent/src/checkpoint/interop/zip/zip_directory.h"

#include "agent/src/checkpoint/interop/little_endian.h"
#include "agent/src/checkpoint/interop/quoted.h"
#include "agent/src/checkpoint/interop/zip/zip_format.h"

namespace ratoon::checkpoint::zip {
namespace {

using Bytes = std::span<const std::byte>;

struct DirectoryExtent {
  std::uint64_t entries = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t offset = 0;
  std::uint64_t end = 0;  // where the directory must end
};

// Returns true if a number in the old (32-bit) end record agrees with the number in the zip64 end record.
// They agree if they are equal, or if the old number has the greatest 32-bit value, which means "see the
// zip64 end record".
template <class T>
bool matches_zip64_number(T old_number, std::uint64_t number, T in_64) {
  return old_number == number || old_number == in_64;
}

Result<DirectoryExtent> read_zip64_end(Bytes file, std::uint64_t locator_at, const DirectoryExtent& old_end) {
  const Bytes locator = file.subspan(locator_at, kZip64LocatorBytes);
  const auto at = get<std::uint64_t>(locator, 8);
  if (get<std::uint32_t>(locator, 4) != 0 || get<std::uint32_t>(locator, 16) != 1)
    return Error(ErrorKind::kInvalid, "the file is one of several parts of a zip file; join the parts first");
  if (locator_at < kZip64EndBytes || at != locator_at - kZip64EndBytes)
    return damaged_zip_error("the zip64 end record is not where its locator says");
  const Bytes end = file.subspan(at, kZip64EndBytes);
  if (get<std::uint32_t>(end) != kZip64EndSignature || get<std::uint64_t>(end, 4) != kZip64EndBytes - 12)
    return damaged_zip_error("the zip64 end record has another signature or length than expected");
  const DirectoryExtent extent{.entries = get<std::uint64_t>(end, 32),
                               .size_bytes = get<std::uint64_t>(end, 40),
                               .offset = get<std::uint64_t>(end, 48),
                               .end = at};
  const bool is_one_part = get<std::uint64_t>(end, 16) == 0 && get<std::uint64_t>(end, 24) == extent.entries;
  if (!is_one_part ||
      !matches_zip64_number<std::uint64_t>(old_end.entries, extent.entries, kEntriesAreInZip64) ||
      !matches_zip64_number<std::uint64_t>(old_end.size_bytes, extent.size_bytes, kIsInZip64Field) ||
      !matches_zip64_number<std::uint64_t>(old_end.offset, extent.offset, kIsInZip64Field))
    return damaged_zip_error("the numbers in the two end records differ");
  return extent;
}

Result<DirectoryExtent> read_end(Bytes file) {
  if (file.size() < kEndBytes)
    return damaged_zip_error("the file has only " + std::to_string(file.size()) + " bytes");
  const std::uint64_t at = file.size() - kEndBytes;
  const Bytes end = file.subspan(at);
  if (get<std::uint32_t>(end) != kEndSignature || get<std::uint16_t>(end, 20) != 0)
    return damaged_zip_error(
        "the file does not end with the end record of a zip file; it may have been cut short");
  const DirectoryExtent extent{.entries = get<std::uint16_t>(end, 10),
                               .size_bytes = get<std::uint32_t>(end, 12),
                               .offset = get<std::uint32_t>(end, 16),
                               .end = at};
  if (get<std::uint32_t>(end, 4) != 0 || get<std::uint16_t>(end, 8) != extent.entries)
    return Error(ErrorKind::kInvalid, "the file is one of several parts of a zip file; join the parts");
  if (at < kZip64LocatorBytes || get<std::uint32_t>(file, at - kZip64LocatorBytes) != kZip64LocatorSignature)
    return extent;
  return read_zip64_end(file, at - kZip64LocatorBytes, extent);
}

// Reads, from the zip64 field, the numbers that are too large for the 32-bit fields of the entry. A zip64
// field with further numbers is an error.
Result<void> read_zip64_field(Bytes extra, Entry& entry, std::uint64_t& stored_bytes) {
  const auto found = find_zip64_field(extra, entry.name);
  if (!found) return found.error();
  std::size_t at = 0;
  for (std::uint64_t* number : {&entry.size_bytes, &stored_bytes, &entry.offset}) {
    if (*number != kIsInZip64Field) continue;
    if (found->size() < at + sizeof *number)
      return damaged_zip_error("the zip64 field of record " + quoted(entry.name) + " is too short");
    *number = get<std::uint64_t>(*found, at);
    at += sizeof *number;
  }
  if (at != found->size())
    return damaged_zip_error("the zip64 field of record " + quoted(entry.name) +
                             " holds more numbers than the entry refers to");
  return {};
}

// Reads the first entry of `directory`, and removes the entry from `directory`.
Result<Entry> read_entry(Bytes& directory) {
  if (directory.size() < kCentralHeaderBytes || get<std::uint32_t>(directory) != kCentralHeaderSignature)
    return damaged_zip_error("the directory has fewer entries than it says");
  const std::uint64_t name_bytes = get<std::uint16_t>(directory, 28);
  const std::uint64_t extra_bytes = get<std::uint16_t>(directory, 30);
  const std::uint64_t comment_bytes = get<std::uint16_t>(directory, 32);
  if (directory.size() - kCentralHeaderBytes < name_bytes + extra_bytes + comment_bytes)
    return damaged_zip_error("an entry of the directory is longer than the directory");
  Entry entry{.name{reinterpret_cast<const char*>(directory.data() + kCentralHeaderBytes), name_bytes},
              .flags = get<std::uint16_t>(directory, 8),
              .crc = get<std::uint32_t>(directory, 16),
              .size_bytes = get<std::uint32_t>(directory, 24),
              .offset = get<std::uint32_t>(directory, 42)};
  std::uint64_t stored_bytes = get<std::uint32_t>(directory, 20);
  if ((entry.flags & ~(kHasDescriptor | kNamesAreUtf8)) != 0)
    return Error(ErrorKind::kInvalid,
                 "record " + quoted(entry.name) + " is encrypted or stored in an unsupported way");
  if (get<std::uint16_t>(directory, 10) != 0)
    return Error(ErrorKind::kInvalid,
                 "record " + quoted(entry.name) +
                     " is compressed, as in programs of torch.jit.save and of LibTorch's torch::save; save "
                     "module.state_dict() in Python, or torch::pickle_save() of a dictionary of tensors in "
                     "C++; zip a file of any other kind again without compression");
  if (get<std::uint16_t>(directory, 34) != 0)
    return Error(ErrorKind::kInvalid, "record " + quoted(entry.name) + " is in another part of the zip file");
  const Bytes extra = directory.subspan(kCentralHeaderBytes + name_bytes, extra_bytes);
  if (auto read = read_zip64_field(extra, entry, stored_bytes); !read) return read.error();
  if (stored_bytes != entry.size_bytes)
    return damaged_zip_error("record " + quoted(entry.name) + " is stored in " +
                             std::to_string(stored_bytes) + " bytes but has " +
                             std::to_string(entry.size_bytes));
  directory = directory.subspan(kCentralHeaderBytes + name_bytes + extra_bytes + comment_bytes);
  return entry;
}

}  // namespace

Error damaged_zip_error(const std::string& what) {
  return Error(ErrorKind::kCorrupted, "the zip file is damaged: " + what + "; get the file again");
}

Result<Bytes> find_zip64_field(Bytes extra, const std::string& name) {
  Bytes found;
  bool is_found = false;
  while (!extra.empty()) {
    const std::size_t size = extra.size() < 4 ? 0 : get<std::uint16_t>(extra, 2);
    if (extra.size() < 4 + size)
      return damaged_zip_error("the extra fields of record " + quoted(name) + " are cut off");
    if (get<std::uint16_t>(extra) == kZip64ExtraId) {
      if (is_found) return damaged_zip_error("record " + quoted(name) + " has two zip64 fields");
      is_found = true;
      found = extra.subspan(4, size);
    }
    extra = extra.subspan(4 + size);
  }
  return found;
}

Result<Directory> read_directory(Bytes file) {
  const auto extent = read_end(file);
  if (!extent) return extent.error();
  if (extent->size_bytes > extent->end || extent->offset != extent->end - extent->size_bytes)
    return damaged_zip_error("the directory is not between the records and the end record");
  Bytes left = file.subspan(extent->offset, extent->size_bytes);
  if (extent->entries > left.size() / kCentralHeaderBytes)
    return damaged_zip_error("the directory has fewer entries than it says");
  Directory directory{.offset = extent->offset, .entries = {}};
  directory.entries.reserve(extent->entries);
  for (std::uint64_t i = 0; i < extent->entries; ++i) {
    auto entry = read_entry(left);
    if (!entry) return entry.error();
    directory.entries.push_back(std::move(*entry));
  }
  if (!left.empty()) return damaged_zip_error("the directory has more entries than it says");
  return directory;
}

}  // namespace ratoon::checkpoint::zip
