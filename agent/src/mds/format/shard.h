// The bytes of a shard: u32 n, u32 offsets[n + 1] from the beginning of the file, a configuration that
// readers skip, the samples. Sample i is [offsets[i], offsets[i + 1]).
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include <ratoon/result.h>

namespace ratoon::mds {

// Checks that every offset is valid. `samples` is the number in the index and may be 0.
[[nodiscard]] Result<void> check_shard(std::span<const std::byte> file, std::uint32_t samples);

// Returns the bytes of a sample in a shard that was checked. Returns nothing if the file has changed since
// the check: any process that may write the file changes the mapping.
[[nodiscard]] inline std::span<const std::byte> sample_bytes(std::span<const std::byte> file,
                                                             std::uint32_t sample) {
  std::uint32_t offsets[2];
  std::memcpy(offsets, file.data() + 4 + std::size_t{4} * sample, sizeof offsets);
  if (offsets[0] > offsets[1] || offsets[1] > file.size()) return {};
  return file.subspan(offsets[0], offsets[1] - offsets[0]);
}

}  // namespace ratoon::mds
