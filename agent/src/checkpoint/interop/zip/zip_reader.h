// checkpoint/interop/zip/: Reads and writes zip archives without compression, as PyTorch writes them.
//
// Reads zip files without compression strictly: every byte of the file must belong to exactly one record,
// header or directory, and fields that occur twice must be equal. The reader decompresses nothing, so a small
// file cannot expand to large data.
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

// Returns the records in the order of their position in the file. read_zip() does not verify checksums.
// Returns kCorrupted if the zip file violates the format, and kInvalid if it is intact but compressed,
// encrypted or split into several parts.
[[nodiscard]] Result<std::vector<ZipRecord>> read_zip(std::span<const std::byte> file);

// Reads the bytes of the record and compares their CRC-32 with the record's checksum.
[[nodiscard]] Result<void> verify(const ZipRecord& record);

}  // namespace ratoon::checkpoint
