#include "agent/src/mds/format/compression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <memory>

#include <brotli/decode.h>
#include <bzlib.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

namespace ratoon::mds {
namespace {

using Bytes = std::span<const std::byte>;
using OutputBytes = std::span<std::byte>;

struct Codec {
  CompressionKind kind;
  std::string_view name;
  int level_min;
  int level_max;
  int level_default;
};

constexpr std::array kCodecs{
    Codec{CompressionKind::kBrotli, "br", 0, 11, 11}, Codec{CompressionKind::kBzip2, "bz2", 1, 9, 9},
    Codec{CompressionKind::kGzip, "gz", 0, 9, 9},     Codec{CompressionKind::kSnappy, "snappy", 0, 0, 0},
    Codec{CompressionKind::kZstd, "zstd", 1, 22, 3},
};

// The C libraries take `char*` or `Bytef*` and 32-bit lengths. All lengths in this file fit into 32 bits,
// because a shard has less than 2^32 bytes.
char* as_chars(const std::byte* at) {
  return const_cast<char*>(reinterpret_cast<const char*>(at));
}
unsigned length_as_unsigned(std::size_t bytes) {
  return static_cast<unsigned>(std::min<std::size_t>(bytes, std::numeric_limits<unsigned>::max()));
}

bool decompress_brotli(Bytes compressed, OutputBytes raw) {
  const std::unique_ptr<BrotliDecoderState, decltype(&BrotliDecoderDestroyInstance)> state(
      BrotliDecoderCreateInstance(nullptr, nullptr, nullptr), &BrotliDecoderDestroyInstance);
  std::size_t in = compressed.size();
  std::size_t out = raw.size();
  const auto* from = reinterpret_cast<const std::uint8_t*>(compressed.data());
  auto* to = reinterpret_cast<std::uint8_t*>(raw.data());
  return state != nullptr &&
         BrotliDecoderDecompressStream(state.get(), &in, &from, &out, &to, nullptr) ==
             BROTLI_DECODER_RESULT_SUCCESS &&
         in == 0 && out == 0;
}

// A bzip2 or gzip file may consist of several streams in sequence.
bool decompress_bzip2(Bytes compressed, OutputBytes raw) {
  while (!compressed.empty()) {
    bz_stream stream{};
    if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) return false;
    stream.next_in = as_chars(compressed.data());
    stream.avail_in = length_as_unsigned(compressed.size());
    stream.next_out = as_chars(raw.data());
    stream.avail_out = length_as_unsigned(raw.size());
    const unsigned in = stream.avail_in;
    const unsigned out = stream.avail_out;
    const int result = BZ2_bzDecompress(&stream);
    compressed = compressed.subspan(in - stream.avail_in);
    raw = raw.subspan(out - stream.avail_out);
    BZ2_bzDecompressEnd(&stream);
    if (result != BZ_STREAM_END) return false;
  }
  return raw.empty();
}

bool decompress_gzip(Bytes compressed, OutputBytes raw) {
  constexpr int kGzipOnly = 15 + 16;
  std::byte nowhere{};  // zlib needs an output address even if no output follows
  while (!compressed.empty()) {
    z_stream stream{};
    if (inflateInit2(&stream, kGzipOnly) != Z_OK) return false;
    stream.next_in = reinterpret_cast<Bytef*>(as_chars(compressed.data()));
    stream.avail_in = length_as_unsigned(compressed.size());
    stream.next_out = reinterpret_cast<Bytef*>(raw.empty() ? &nowhere : raw.data());
    stream.avail_out = length_as_unsigned(raw.size());
    const unsigned in = stream.avail_in;
    const unsigned out = stream.avail_out;
    const int result = inflate(&stream, Z_FINISH);
    compressed = compressed.subspan(in - stream.avail_in);
    raw = raw.subspan(out - stream.avail_out);
    inflateEnd(&stream);
    if (result != Z_STREAM_END) return false;
  }
  return raw.empty();
}

bool decompress_snappy(Bytes compressed, OutputBytes raw) {
  std::size_t size = 0;
  return snappy::GetUncompressedLength(as_chars(compressed.data()), compressed.size(), &size) &&
         size == raw.size() &&
         snappy::RawUncompress(as_chars(compressed.data()), compressed.size(), as_chars(raw.data()));
}

bool decompress_zstd(Bytes compressed, OutputBytes raw) {
  return ZSTD_decompress(raw.data(), raw.size(), compressed.data(), compressed.size()) == raw.size();
}

bool try_decompress(CompressionKind kind, Bytes compressed, OutputBytes raw) {
  switch (kind) {
    case CompressionKind::kBrotli:
      return decompress_brotli(compressed, raw);
    case CompressionKind::kBzip2:
      return decompress_bzip2(compressed, raw);
    case CompressionKind::kGzip:
      return decompress_gzip(compressed, raw);
    case CompressionKind::kSnappy:
      return decompress_snappy(compressed, raw);
    case CompressionKind::kZstd:
      return decompress_zstd(compressed, raw);
    case CompressionKind::kNone:
      break;
  }
  return false;
}

}  // namespace

std::string_view extension_of(CompressionKind kind) {
  const auto found =
      std::find_if(kCodecs.begin(), kCodecs.end(), [&](const Codec& f) { return f.kind == kind; });
  return found == kCodecs.end() ? std::string_view() : found->name;
}

Result<Compression> parse_compression(std::string_view name) {
  const std::size_t colon = name.find(':');
  for (const Codec& family : kCodecs) {
    if (family.name != name.substr(0, colon)) continue;
    if (colon == std::string_view::npos) return Compression{family.kind, family.level_default};
    const std::string_view digits = name.substr(colon + 1);
    int level = -1;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
    const bool is_level = problem == std::errc() && end == digits.data() + digits.size() &&
                          level >= family.level_min && level <= family.level_max;
    if (is_level && family.kind != CompressionKind::kSnappy) return Compression{family.kind, level};
  }
  return Error(ErrorKind::kInvalid,
               "the compression '" + std::string(name.substr(0, 80)) +
                   "' is unknown; there are br:0 to br:11, bz2:1 to bz2:9, gz:0 to gz:9, snappy "
                   "and zstd:1 to zstd:22");
}

Result<void> decompress(CompressionKind kind, Bytes compressed, OutputBytes raw) {
  if (try_decompress(kind, compressed, raw)) return {};
  return Error(ErrorKind::kCorrupted, "the " + std::to_string(compressed.size()) + " bytes of " +
                                          std::string(extension_of(kind)) + " do not unpack to the " +
                                          std::to_string(raw.size()) + " bytes that the index says");
}

}  // namespace ratoon::mds
