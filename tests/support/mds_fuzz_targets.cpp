#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <ratoon/mds_values.h>

#include "agent/src/mds/format/compression.h"
#include "agent/src/mds/format/digest.h"
#include "agent/src/mds/format/index.h"
#include "agent/src/mds/format/little_endian.h"
#include "agent/src/mds/format/shard.h"
#include "agent/src/mds/format/values/decode.h"
#include "base/core/utf8.h"
#include "tests/support/fuzz_targets.h"

namespace ratoon::fuzz {
namespace {

using Bytes = std::span<const std::byte>;

void require_shard_sentence(const Error& error, ErrorKind kind) {
  require(error.kind() == kind && !error.message().empty() && error.message().size() < 8192);
}

// Every encoding is in one of these data sets.
const std::vector<mds::Columns>& column_sets() {
  static const std::vector<mds::Columns> sets = [] {
    const std::vector<std::vector<std::string>> encodings = {{"int", "bytes"},
                                                             {"str"},
                                                             {"ndarray"},
                                                             {"ndarray:uint16", "ndarray:float32:2,3"},
                                                             {"pil"},
                                                             {"list[pil]"},
                                                             {"list[jpeg]"},
                                                             {"jpeg_array"},
                                                             {"uint8", "float16"},
                                                             {"json", "jpeg"},
                                                             {"png", "str_int"},
                                                             {}};
    std::vector<mds::Columns> made;
    for (const auto& names : encodings) {
      std::vector<std::string> columns;
      std::vector<std::optional<std::uint32_t>> sizes;
      for (const auto& name : names) {
        columns.push_back("c" + std::to_string(columns.size()));
        const std::uint32_t size = mds::parse_encoding(name)->size_bytes;
        sizes.push_back(size == 0 ? std::nullopt : std::optional(size));
      }
      made.push_back(mds::Columns::make(columns, names, sizes).value());
    }
    return made;
  }();
  return sets;
}

void check_field(const Field& field, Bytes file) {
  require(bytes_of(field.type, field.shape) == field.bytes.size());
  require(field.bytes.empty() || (field.bytes.data() >= file.data() &&
                                  field.bytes.data() + field.bytes.size() <= file.data() + file.size()));
  if (field.type == ElementType::kText) require(is_utf8(field.bytes));
}

void check_sample(const mds::Columns& columns, Bytes bytes) {
  Sample sample, elements;
  if (const auto decoded = mds::decode_sample(columns, bytes, sample); !decoded)
    return require_shard_sentence(decoded.error(), ErrorKind::kCorrupted);
  require(sample.size() == columns.size());
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const Field& field = sample.field(i);
    check_field(field, bytes);
    if (const auto shape = image_shape(field.bytes))
      require(shape->height > 0 && shape->width > 0 && shape->channels > 0);
    const mds::Encoding& encoding = columns.encodings()[i];
    if (encoding.kind != mds::EncodingKind::kList && encoding.kind != mds::EncodingKind::kJpegArray) continue;
    elements.begin(0);
    if (!mds::decode_elements(encoding, field.bytes, elements)) continue;
    for (const Field& element : elements.fields()) check_field(element, bytes);
  }
}

}  // namespace

void mds_index(std::string_view bytes) {
  const auto index = mds::parse_index(bytes);
  if (!index) return require_shard_sentence(index.error(), ErrorKind::kInvalid);
  for (const mds::ShardInfo& shard : index->shards) {
    require(mds::is_safe_basename(shard.raw.basename));
    require(!shard.zip || mds::is_safe_basename(shard.zip->basename));
    require(shard.zip.has_value() == (shard.compression != mds::CompressionKind::kNone));
  }
  require(mds::digest_of(*index).value().size() == 64);
  require(mds::parse_index(bytes)->shards == index->shards);
}

void mds_shard(std::string_view text) {
  if (text.empty()) return;
  const auto& sets = column_sets();
  const mds::Columns& columns = sets[static_cast<unsigned char>(text.front()) % sets.size()];
  const std::string copy(text.substr(1));  // its own memory, so that a byte too far is seen
  const Bytes file = std::as_bytes(std::span(copy));
  check_sample(columns, file);
  const std::uint32_t samples = file.size() < 4 ? 0 : mds::read_little_endian(file.data());
  if (const auto sound = mds::check_shard(file, samples); !sound)
    return require_shard_sentence(sound.error(), ErrorKind::kCorrupted);
  std::size_t total = 0;
  for (std::uint32_t i = 0; i < samples; ++i) {
    const Bytes sample = mds::sample_bytes(file, i);
    total += sample.size();
    if (i < 1000) check_sample(columns, sample);
  }
  require(total <= file.size());
}

void mds_compressed(std::string_view text) {
  constexpr mds::CompressionKind kKinds[] = {mds::CompressionKind::kBrotli, mds::CompressionKind::kBzip2,
                                             mds::CompressionKind::kGzip, mds::CompressionKind::kSnappy,
                                             mds::CompressionKind::kZstd};
  if (text.size() < 3) return;
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(text[i]));
  };
  std::vector<std::byte> raw(byte(1) | byte(2) << 8);
  const auto done =
      mds::decompress(kKinds[byte(0) % std::size(kKinds)], std::as_bytes(std::span(text.substr(3))), raw);
  if (!done) require_shard_sentence(done.error(), ErrorKind::kCorrupted);
}

}  // namespace ratoon::fuzz
