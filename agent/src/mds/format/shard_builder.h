// ShardBuilder: combines samples into the bytes of a shard, and decides when the next shard begins.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

namespace ratoon::mds {

class ShardBuilder {
 public:
  // `config` is the text that each shard has after its offsets. If `size_limit_bytes` is 0, only the format
  // limits the size of a shard.
  ShardBuilder(std::string config, std::uint64_t size_limit_bytes)
      : config_(std::move(config)), size_limit_bytes_(size_limit_bytes) {}

  // Returns true if take_shard_file() must be called before a sample of `sample_bytes` bytes is added. If the
  // sample alone exceeds the limit, returns true even for an empty shard: Ratoon then writes the empty shard,
  // as MosaicML Streaming does.
  [[nodiscard]] bool is_full_for(std::size_t sample_bytes) const;
  // Returns an error if the shard would have 2^32 bytes or more, because its offsets have 32 bits.
  [[nodiscard]] Result<void> add(std::string_view sample);
  // Returns the bytes of the current shard's file and begins the next shard.
  [[nodiscard]] std::string take_shard_file();

  [[nodiscard]] std::uint32_t samples() const { return static_cast<std::uint32_t>(sample_ends_.size()); }

 private:
  const std::string config_;
  const std::uint64_t size_limit_bytes_;
  std::string bytes_;                       // of all samples
  std::vector<std::uint32_t> sample_ends_;  // of each sample in bytes_
};

}  // namespace ratoon::mds
