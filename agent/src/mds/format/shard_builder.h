// ShardBuilder: samples put together to the bytes of a shard, and the rule by which one ends and the next
// begins.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

namespace ratoon::mds {

class ShardBuilder {
 public:
  // `config` is the text that each shard has behind its offsets. `size_limit_bytes` 0: none.
  ShardBuilder(std::string config, std::uint64_t size_limit_bytes)
      : config_(std::move(config)), size_limit_bytes_(size_limit_bytes) {}

  // Whether the shard must be taken before a sample of that many bytes is added. True of an empty one too, if
  // the sample is larger than a shard may be: Streaming writes an empty shard then, and so do we.
  [[nodiscard]] bool is_full_for(std::size_t sample_bytes) const;
  // An error where offsets of 32 bits do not reach.
  [[nodiscard]] Result<void> add(std::string_view sample);
  // What the shard's file holds. Begins the next shard.
  [[nodiscard]] std::string take();

  [[nodiscard]] std::uint32_t samples() const { return static_cast<std::uint32_t>(ends_.size()); }

 private:
  const std::string config_;
  const std::uint64_t size_limit_bytes_;
  std::string bytes_;                // of all samples
  std::vector<std::uint32_t> ends_;  // of each sample in them
};

}  // namespace ratoon::mds
