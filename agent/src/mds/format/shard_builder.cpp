#include "agent/src/mds/format/shard_builder.h"

#include <limits>
#include <utility>

namespace ratoon::mds {
namespace {

constexpr std::uint64_t kFileBytesMax = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kWordBytes = sizeof(std::uint32_t);

void append_word(std::string& out, std::uint32_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

bool ShardBuilder::is_full_for(std::size_t sample_bytes) const {
  const std::uint64_t now =
      2 * kWordBytes + config_.size() + kWordBytes * sample_ends_.size() + bytes_.size();
  return size_limit_bytes_ != 0 && now + sample_bytes + kWordBytes > size_limit_bytes_;
}

Result<void> ShardBuilder::add(std::string_view sample) {
  const std::uint64_t size = 2 * kWordBytes + config_.size() + kWordBytes * (sample_ends_.size() + 1) +
                             bytes_.size() + sample.size();
  if (size > kFileBytesMax) {
    return Error(
        ErrorKind::kInvalid,
        "the shard would have " + std::to_string(size) +
            " bytes, but a shard has less than 2^32: lower size_limit_bytes, or make samples smaller");
  }
  bytes_ += sample;
  sample_ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  return {};
}

std::string ShardBuilder::take_shard_file() {
  const auto begin =
      static_cast<std::uint32_t>(2 * kWordBytes + kWordBytes * sample_ends_.size() + config_.size());
  std::string file;
  file.reserve(begin + bytes_.size());
  append_word(file, samples());
  append_word(file, begin);
  for (const std::uint32_t end : sample_ends_) append_word(file, begin + end);
  file += config_;
  file += bytes_;
  bytes_.clear();
  sample_ends_.clear();
  return file;
}

}  // namespace ratoon::mds
