// Reads the directory (the list of all records) at the end of a zip file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ratoon/result.h>

namespace ratoon::checkpoint::zip {

struct Entry {
  std::string name;
  std::uint16_t flags = 0;
  std::uint32_t crc = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t offset = 0;  // of the record's own header
};

struct Directory {
  std::uint64_t offset = 0;  // where it begins, and where records end
  std::vector<Entry> entries;
};

[[nodiscard]] Result<Directory> read_directory(std::span<const std::byte> file);

// Returns the contents of the zip64 field in the extra fields `extra`, or nothing if there is no zip64 field.
[[nodiscard]] Result<std::span<const std::byte>> find_zip64_field(std::span<const std::byte> extra,
                                                                  const std::string& name);

[[nodiscard]] Error damaged_zip_error(const std::string& what);

}  // namespace ratoon::checkpoint::zip
