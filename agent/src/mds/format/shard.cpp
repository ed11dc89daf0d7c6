#include "agent/src/mds/format/shard.h"

#include <string>

#include "agent/src/mds/format/little_endian.h"

namespace ratoon::mds {
namespace {

Error corrupted_shard(const std::string& what) {
  return Error(ErrorKind::kCorrupted, what);
}

}  // namespace

Result<void> check_shard(std::span<const std::byte> file, std::uint32_t samples) {
  if (file.size() < 8)
    return corrupted_shard("the shard has " + std::to_string(file.size()) +
                           " bytes, but a shard has at least 8");
  const std::uint32_t found = read_little_endian(file.data());
  if (found != samples) {
    return corrupted_shard("the shard says that it has " + std::to_string(found) +
                           " samples, but the index says " + std::to_string(samples));
  }
  const std::uint64_t table_end = 8 + std::uint64_t{4} * samples;
  if (table_end > file.size()) {
    return corrupted_shard("the shard has " + std::to_string(file.size()) +
                           " bytes, but the offsets of its " + std::to_string(samples) +
                           " samples alone take " + std::to_string(table_end));
  }
  const std::byte* const offsets = file.data() + 4;
  if (read_little_endian(offsets) < table_end) {
    return corrupted_shard("the shard begins its first sample at byte " +
                           std::to_string(read_little_endian(offsets)) +
                           ", inside of its offsets, which end at " + std::to_string(table_end));
  }
  for (std::uint32_t i = 0; i < samples; ++i) {
    const std::uint32_t begin = read_little_endian(offsets + std::size_t{4} * i);
    const std::uint32_t end = read_little_endian(offsets + std::size_t{4} * i + 4);
    if (end < begin) {
      return corrupted_shard("the shard ends its sample " + std::to_string(i) + " at byte " +
                             std::to_string(end) + ", before it begins at " + std::to_string(begin));
    }
  }
  const std::uint32_t end = read_little_endian(offsets + std::size_t{4} * samples);
  if (end != file.size()) {
    return corrupted_shard("the shard ends its samples at byte " + std::to_string(end) + ", but has " +
                           std::to_string(file.size()) + " bytes");
  }
  return {};
}

}  // namespace ratoon::mds
