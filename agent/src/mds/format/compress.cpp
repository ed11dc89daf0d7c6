// Compresses whole shard files. compression.cpp parses the names and levels of algorithms, and decompresses.
#include <cstdint>
#include <limits>

#include <brotli/encode.h>
#include <bzlib.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include "agent/src/mds/format/compression.h"

namespace ratoon::mds {
namespace {

// Each function compresses `raw` into `packed`, and returns true if it succeeded. All lengths fit into 32
// bits, because a shard has less than 2^32 bytes even if compression makes it longer.
bool compress_brotli(std::string_view raw, int level, std::string& packed) {
  packed.resize(BrotliEncoderMaxCompressedSize(raw.size()));
  std::size_t size = packed.size();
  const bool is_done = BrotliEncoderCompress(level, BROTLI_DEFAULT_WINDOW, BROTLI_DEFAULT_MODE, raw.size(),
                                             reinterpret_cast<const std::uint8_t*>(raw.data()), &size,
                                             reinterpret_cast<std::uint8_t*>(packed.data())) == BROTLI_TRUE;
  packed.resize(is_done ? size : 0);
  return is_done;
}

bool compress_bzip2(std::string_view raw, int level, std::string& packed) {
  packed.resize(raw.size() + raw.size() / 100 + 600);  // the bound in its manual
  auto size = static_cast<unsigned>(packed.size());
  const int result = BZ2_bzBuffToBuffCompress(packed.data(), &size, const_cast<char*>(raw.data()),
                                              static_cast<unsigned>(raw.size()), level, 0, 0);
  packed.resize(result == BZ_OK ? size : 0);
  return result == BZ_OK;
}

bool compress_gzip(std::string_view raw, int level, std::string& packed) {
  constexpr int kGzip = 15 + 16;
  constexpr int kMemoryLevel = 8;
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, kGzip, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) return false;
  packed.resize(deflateBound(&stream, raw.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(raw.data()));
  stream.avail_in = static_cast<unsigned>(raw.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<unsigned>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return result == Z_STREAM_END;
}

bool compress_snappy(std::string_view raw, std::string& packed) {
  snappy::Compress(raw.data(), raw.size(), &packed);
  return true;
}

bool compress_zstd(std::string_view raw, int level, std::string& packed) {
  packed.resize(ZSTD_compressBound(raw.size()));
  const std::size_t size = ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), level);
  const bool is_done = ZSTD_isError(size) == 0;
  packed.resize(is_done ? size : 0);
  return is_done;
}

bool try_compress(Compression compression, std::string_view raw, std::string& packed) {
  switch (compression.kind) {
    case CompressionKind::kBrotli:
      return compress_brotli(raw, compression.level, packed);
    case CompressionKind::kBzip2:
      return compress_bzip2(raw, compression.level, packed);
    case CompressionKind::kGzip:
      return compress_gzip(raw, compression.level, packed);
    case CompressionKind::kSnappy:
      return compress_snappy(raw, packed);
    case CompressionKind::kZstd:
      return compress_zstd(raw, compression.level, packed);
    case CompressionKind::kNone:
      break;
  }
  return false;
}

// The C libraries use 32-bit lengths, and compression may make data one percent longer.
constexpr std::size_t kRawBytesMax = std::numeric_limits<std::uint32_t>::max() / 100 * 98;

}  // namespace

Result<std::string> compress(Compression compression, std::string_view raw) {
  std::string packed;
  if (raw.size() <= kRawBytesMax && try_compress(compression, raw, packed)) return packed;
  return Error(ErrorKind::kInvalid, std::to_string(raw.size()) + " bytes cannot be packed as '" +
                                        std::string(extension_of(compression.kind)) +
                                        "'; write smaller shards, of " + std::to_string(kRawBytesMax) +
                                        " bytes at most");
}

}  // namespace ratoon::mds
