// CRC-32 of zip files (IEEE 802.3, reflected), which is not the CRC32C of our own files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ratoon::checkpoint {

// The CRC of the bytes so far followed by `data`, where `crc` is that of the bytes so far (0: none).
[[nodiscard]] std::uint32_t crc32(std::span<const std::byte> data, std::uint32_t crc = 0);

}  // namespace ratoon::checkpoint
