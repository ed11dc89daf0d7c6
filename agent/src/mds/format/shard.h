// A shard file consists of n (the number of samples, as u32), n + 1 offsets (u32), a configuration that
// readers skip, and the samples. Offsets count from the beginning of the file. Sample i begins at offsets[i]
// and ends before offsets[i + 1].
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include <ratoon/result.h>

namespace ratoon::mds {

// Checks that every offset in the shard is valid. `samples` is the number of samples that the index gives for
// this shard. `samples` may be 0.
[[nodiscard]] Result<void> check_shard(std::span<const std::byte> file, std::uint32_t samples);

// Returns the bytes of a sample in a shard that was checked. Returns nothing if the offsets have become
// invalid after the check, because another process has written to the mapped file.
[[nodiscard]] inline std::span<const std::byte> sample_bytes(std::span<const std::byte> file,
                                                             std::uint32_t sample) {
  std::uint32_t offsets[2];
  std::memcpy(offsets, file.data() + 4 + std::size_t{4} * sample, sizeof offsets);
  if (offsets[0] > offsets[1] || offsets[1] > file.size()) return {};
  return file.subspan(offsets[0], offsets[1] - offsets[0]);
}

}  // namespace ratoon::mds
