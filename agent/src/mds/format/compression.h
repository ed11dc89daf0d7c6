// Compresses whole shard files. Compression algorithms have the names that MosaicML Streaming gives them,
// such as "br:11", "bz2:9", "gz:9", "snappy" and "zstd:3". The compression level after ':' is optional.
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

// Returns the extension of a compressed file's name without the dot, such as "zstd".
[[nodiscard]] std::string_view extension_of(CompressionKind kind);

// Fills all of `raw` and never writes beyond it, even if the compressed bytes claim a larger size. The size
// in the index, which is the size of `raw`, limits the memory that decompression takes.
[[nodiscard]] Result<void> decompress(CompressionKind kind, std::span<const std::byte> compressed,
                                      std::span<std::byte> raw);

// Compresses `raw` so that MosaicML Streaming can read the result.
[[nodiscard]] Result<std::string> compress(Compression compression, std::string_view raw);

}  // namespace ratoon::mds
