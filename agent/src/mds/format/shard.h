// A shard's bytes: u32 n, u32 offsets[n + 1] from the beginning of the file, a configuration that readers
// skip, the samples. Sample i is [offsets[i], offsets[i + 1]).
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include <ratoon/result.h>

namespace ratoon::mds {

// Whether every offset may be followed. `samples` is what the index says; there may be none.
[[nodiscard]] Result<void> check_shard(std::span<const std::byte> file, std::uint32_t samples);

// The bytes of a sample, of a shard that was checked. Empty where the file changed under our hands since:
// what is mapped belongs to whoever can write the file.
[[nodiscard]] inline std::span<const std::byte> sample_bytes(std::span<const std::byte> file,
                                                             std::uint32_t sample) {
  std::uint32_t offsets[2];
  std::memcpy(offsets, file.data() + 4 + std::size_t{4} * sample, sizeof offsets);
  if (offsets[0] > offsets[1] || offsets[1] > file.size()) return {};
  return file.subspan(offsets[0], offsets[1] - offsets[0]);
}

}  // namespace ratoon::mds
