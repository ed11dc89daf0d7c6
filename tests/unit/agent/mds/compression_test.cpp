#include "agent/src/mds/format/compression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/agent/mds/golden_folders.h"

namespace ratoon::mds::compression_test {
namespace {

struct Packed {
  CompressionKind kind;
  std::string bytes;  // Streaming's
  std::string
      raw;  // the same, unpacked: equal in all of golden/compressed but for the name of the compression
};

Packed packed(const std::string& name, CompressionKind kind) {
  const auto folder = kGolden / "compressed" / name;
  const auto shard = nlohmann::json::parse(test::read_text(folder / "index.json"))["shards"][1];
  Packed known{.kind = kind,
               .bytes = test::read_text(folder / shard["zip_data"]["basename"].get<std::string>()),
               .raw = std::string(shard["raw_data"]["bytes"].get<std::size_t>(), '\0')};
  const auto done =
      decompress(kind, std::as_bytes(std::span(known.bytes)), std::as_writable_bytes(std::span(known.raw)));
  EXPECT_TRUE(done) << name;
  return known;
}

std::vector<Packed> all() {
  return {packed("br", CompressionKind::kBrotli), packed("bz2", CompressionKind::kBzip2),
          packed("gz", CompressionKind::kGzip), packed("snappy", CompressionKind::kSnappy),
          packed("zstd", CompressionKind::kZstd)};
}

bool unpacks(CompressionKind kind, const std::string& bytes, std::size_t size, std::string* raw = nullptr) {
  std::string room(size, '\0');
  const auto done =
      decompress(kind, std::as_bytes(std::span(bytes)), std::as_writable_bytes(std::span(room)));
  if (raw != nullptr) *raw = room;
  if (!done) {
    EXPECT_EQ(done.error().kind(), ErrorKind::kCorrupted);
    EXPECT_THAT(done.error().message(),
                testing::HasSubstr("do not unpack to the " + std::to_string(size) + " bytes"));
  }
  return done.has_value();
}

TEST(Compression, UnpacksToExactlyWhatTheIndexSays) {
  for (const Packed& known : all()) {
    SCOPED_TRACE(extension_of(known.kind));
    EXPECT_TRUE(unpacks(known.kind, known.bytes, known.raw.size()));
    EXPECT_FALSE(unpacks(known.kind, known.bytes, known.raw.size() - 1));
    EXPECT_FALSE(unpacks(known.kind, known.bytes, known.raw.size() + 1));
    EXPECT_FALSE(unpacks(known.kind, known.bytes, 0));
    EXPECT_FALSE(unpacks(known.kind, "", known.raw.size()));
    EXPECT_FALSE(unpacks(known.kind, known.bytes + "x", known.raw.size()));
    for (std::size_t size = 0; size < known.bytes.size(); ++size)
      EXPECT_FALSE(unpacks(known.kind, known.bytes.substr(0, size), known.raw.size())) << size;
  }
}

TEST(Compression, OfNothingUnpacksToNothing) {
  EXPECT_TRUE(unpacks(CompressionKind::kZstd, compress({CompressionKind::kZstd, 3}, "").value(), 0));
  EXPECT_TRUE(unpacks(CompressionKind::kSnappy, std::string(1, '\0'), 0));
  EXPECT_TRUE(unpacks(CompressionKind::kBrotli, ";", 0));
}

// Files as cat and parallel compressors make them; Python reads them too.
TEST(Compression, StreamsBehindEachOtherAreOne) {
  for (const Packed& known : all()) {
    if (known.kind == CompressionKind::kBrotli || known.kind == CompressionKind::kSnappy) continue;
    std::string raw;
    EXPECT_TRUE(unpacks(known.kind, known.bytes + known.bytes, 2 * known.raw.size(), &raw));
    EXPECT_EQ(raw, known.raw + known.raw);
  }
}

TEST(Compression, GzIsGzipAndNotItsNeighbourZlib) {
  // zlib.compress(b"hello")
  const std::string zlib("\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\x00\x06\x2c\x02\x15", 13);
  EXPECT_FALSE(unpacks(CompressionKind::kGzip, zlib, 5)) << "gzip.decompress() refuses it, too";
}

TEST(Compression, NamesAreStreamings) {
  EXPECT_EQ(parse_compression("br").value(), (Compression{CompressionKind::kBrotli, 11}));
  EXPECT_EQ(parse_compression("bz2:1").value(), (Compression{CompressionKind::kBzip2, 1}));
  EXPECT_EQ(parse_compression("gz:0").value(), (Compression{CompressionKind::kGzip, 0}));
  EXPECT_EQ(parse_compression("snappy").value(), (Compression{CompressionKind::kSnappy, 0}));
  EXPECT_EQ(parse_compression("zstd").value(), (Compression{CompressionKind::kZstd, 3}));
  EXPECT_EQ(parse_compression("zstd:22").value(), (Compression{CompressionKind::kZstd, 22}));
  for (const char* name : {"", "br:12", "bz2:0", "gz:10", "snappy:0", "zstd:0", "zstd:23", "zstd:", "zstd:3x",
                           "zstd:+3", "zstd: 3", "lz4", "ZSTD", "zstd:3:3", ":3"})
    EXPECT_FALSE(parse_compression(name)) << name;
}

TEST(Compression, WhatIsPackedUnpacksAgain) {
  std::string numbers, noise;
  for (int i = 0; i < 20'000; ++i) numbers += std::to_string(i * i % 9973) + ",";
  for (std::uint64_t i = 1; i < 20'000; ++i) noise += static_cast<char>((i * 0x9E3779B97F4A7C15) >> 56);
  for (const char* name : {"br", "br:0", "bz2", "bz2:1", "gz", "gz:0", "snappy", "zstd", "zstd:19"}) {
    SCOPED_TRACE(name);
    const Compression compression = parse_compression(name).value();
    for (const std::string& raw : {std::string(), std::string("x"), numbers, noise}) {
      const auto packed = compress(compression, raw);
      ASSERT_TRUE(packed);
      std::string unpacked;
      EXPECT_TRUE(unpacks(compression.kind, *packed, raw.size(), &unpacked));
      EXPECT_TRUE(unpacked == raw);
    }
    if (compression != Compression{CompressionKind::kGzip, 0}) {
      EXPECT_LT(compress(compression, numbers).value().size(), numbers.size() * 3 / 4);
    }
  }
  EXPECT_FALSE(compress({CompressionKind::kNone, 0}, "x"));
}

TEST(Compression, ALevelIsWorthItsTime) {
  std::string raw;
  for (int i = 0; i < 40'000; ++i) raw += std::to_string(i * i % 9973) + ",";
  const auto size_at = [&](const char* name) {
    return compress(parse_compression(name).value(), raw).value().size();
  };
  EXPECT_LT(size_at("zstd:19"), size_at("zstd:3"));
  EXPECT_NE(size_at("zstd:3"), size_at("zstd:1"));
  EXPECT_LT(size_at("br:11"), size_at("br:1"));
  EXPECT_LT(size_at("gz:9"), size_at("gz:1"));
  EXPECT_NE(size_at("bz2:9"), size_at("bz2:1"));
}

}  // namespace
}  // namespace ratoon::mds::compression_test
