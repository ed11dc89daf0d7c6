// checkpoint/interop/zip/: Zip archives without compression, as PyTorch writes them.
//
// Reads zip files of stored records strictly: every byte of the file belongs to exactly one record, header or
// directory, and fields that occur twice must be equal. Nothing is decompressed, so no small file can become
// large data.
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

// Returns the records in the order of their bytes; verifies no checksums. Returns kCorrupted for a file that
// no correct writer makes, kInvalid for an intact file that is compressed, encrypted or in several parts.
[[nodiscard]] Result<std::vector<ZipRecord>> read_zip(std::span<const std::byte> file);

// Reads the record once and compares its checksum with its bytes.
[[nodiscard]] Result<void> verify(const ZipRecord& record);

}  // namespace ratoon::checkpoint
