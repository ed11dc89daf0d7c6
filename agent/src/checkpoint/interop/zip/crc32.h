// CRC-32 of zip files (IEEE 802.3, reflected), which is not the CRC32C of Ratoon's own files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ratoon::checkpoint {

// Adds `data` to the checksum `crc` of the bytes before `data`, and returns the new checksum. `crc` is 0 if
// no bytes come before `data`.
[[nodiscard]] std::uint32_t crc32(std::span<const std::byte> data, std::uint32_t crc = 0);

}  // namespace ratoon::checkpoint
