// Compression of whole shard files, by Streaming's names: "br:11", "bz2:9", "gz:9", "snappy", "zstd:3"; the
// level may be left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::mds {

enum class CompressionKind : std::uint8_t { kNone, kBrotli, kBzip2, kGzip, kSnappy, kZstd };

struct Compression {
  CompressionKind kind = CompressionKind::kNone;
  int level = 0;

  friend bool operator==(const Compression&, const Compression&) = default;
};

[[nodiscard]] Result<Compression> parse_compression(std::string_view name);

// What a file's name gets behind a dot: "zstd".
[[nodiscard]] std::string_view extension_of(CompressionKind kind);

// Fills `raw`, all of it and not a byte more, whatever the compressed bytes claim: memory is bounded by what
// the index said.
[[nodiscard]] Result<void> decompress(CompressionKind kind, std::span<const std::byte> compressed,
                                      std::span<std::byte> raw);

// As Streaming packs it: it reads what this makes.
[[nodiscard]] Result<std::string> compress(Compression compression, std::string_view raw);

}  // namespace ratoon::mds
