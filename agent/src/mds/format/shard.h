// A shard's bytes are: u32 n, u32 offsets[n + 1] from the beginning of the file, a configuration that readers
// skip, the samples. Sample i has the bytes [offsets[i], offsets[i + 1]).
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include <ratoon/result.h>

namespace ratoon::mds {

// Checks that every offset is valid. `samples` is the index's number of samples and may be 0.
[[nodiscard]] Result<void> check_shard(std::span<const std::byte> file, std::uint32_t samples);

// Returns the bytes of a sample in a shard that was checked. Returns nothing if the file changed after the
// check: a process that writes the file changes the mapped bytes, too.
[[nodiscard]] inline std::span<const std::byte> sample_bytes(std::span<const std::byte> file,
                                                             std::uint32_t sample) {
  std::uint32_t offsets[2];
  std::memcpy(offsets, file.data() + 4 + std::size_t{4} * sample, sizeof offsets);
  if (offsets[0] > offsets[1] || offsets[1] > file.size()) return {};
  return file.subspan(offsets[0], offsets[1] - offsets[0]);
}

}  // namespace ratoon::mds
