// CRC32C (Castagnoli): the checksum of checkpoint blocks, of S3 upload parts and of iSCSI (RFC 3720).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ratoon {

// Returns the CRC of the earlier bytes followed by `data`; `crc` is the CRC of the earlier bytes, or 0 if
// there are none. Uses the processor's CRC instruction if the processor has it.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t crc = 0);

// Returns the CRC of two joined pieces, from the CRC of each piece and the length of the second piece, in
// O(log length_b).
[[nodiscard]] std::uint32_t crc32c_combine(std::uint32_t a, std::uint32_t b, std::uint64_t length_b);

// The two implementations of crc32c(), for tests and benchmarks.
namespace crc32c_ways {
[[nodiscard]] std::uint32_t portable(std::span<const std::byte> data, std::uint32_t crc = 0);
[[nodiscard]] bool has_hardware();
// Call hardware() only if has_hardware() returns true.
[[nodiscard]] std::uint32_t hardware(std::span<const std::byte> data, std::uint32_t crc = 0);
}  // namespace crc32c_ways

}  // namespace ratoon
