// CRC-32 of zip files (IEEE 802.3, reflected), which is not the CRC32C of Ratoon's own files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ratoon::checkpoint {

// Returns the CRC of some bytes followed by `data`. `crc` is the CRC of the bytes before `data`, or 0 if
// there are none.
[[nodiscard]] std::uint32_t crc32(std::span<const std::byte> data, std::uint32_t crc = 0);

}  // namespace ratoon::checkpoint
