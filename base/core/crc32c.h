// CRC32C (Castagnoli), the checksum of our checkpoint blocks, of S3 parts and of iSCSI (RFC 3720).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ratoon {

// Extends `crc`, the CRC of the bytes so far (0: none), by `data`. Uses the processor's CRC instruction if it
// has one.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t crc = 0);

// The CRC of two consecutive pieces, from the CRC of each and the length of the second, in O(log length).
[[nodiscard]] std::uint32_t crc32c_combine(std::uint32_t a, std::uint32_t b, std::uint64_t length_b);

// The two implementations of crc32c(), for tests and benchmarks.
namespace crc32c_ways {
[[nodiscard]] std::uint32_t portable(std::span<const std::byte> data, std::uint32_t crc = 0);
[[nodiscard]] bool has_hardware();
// Call this function only if has_hardware().
[[nodiscard]] std::uint32_t hardware(std::span<const std::byte> data, std::uint32_t crc = 0);
}  // namespace crc32c_ways

}  // namespace ratoon
