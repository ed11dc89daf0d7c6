// Reads zip files of stored records that others wrote, strictly: every byte of the file belongs to exactly
// one record, header or directory, and what is said twice is said the same. Nothing is unpacked, so nothing
// grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ratoon/result.h>

namespace ratoon::checkpoint {

struct ZipRecord {
  std::string name;  // as it is stored, unique in the file
  std::span<const std::byte> bytes{};
  std::uint32_t crc = 0;
};

// In the order of their bytes in the file. kCorrupted: what no sound writer leaves; kInvalid: sound, but
// compressed, encrypted or in several parts. Checksums are not looked at.
[[nodiscard]] Result<std::vector<ZipRecord>> read_zip(std::span<const std::byte> file);

// Reads the record's bytes once.
[[nodiscard]] Result<void> verify(const ZipRecord& record);

}  // namespace ratoon::checkpoint
