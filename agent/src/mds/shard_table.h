// Which shard holds a sample, in a time that does not grow with their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ratoon::mds {

class ShardTable {
 public:
  explicit ShardTable(std::span<const std::uint64_t> sizes);

  struct Place {
    std::size_t shard = 0;
    std::uint32_t sample = 0;  // in it
  };

  [[nodiscard]] std::uint64_t samples() const { return begins_.back(); }
  // `id` is below samples().
  [[nodiscard]] Place find(std::uint64_t id) const;

 private:
  std::vector<std::uint64_t> begins_;  // of each shard's first sample, and behind the last one's last
  std::vector<std::uint32_t>
      first_shards_;  // that reach into each range of 2^shift_ ids, and behind the last
  unsigned shift_ = 0;
};

}  // namespace ratoon::mds
