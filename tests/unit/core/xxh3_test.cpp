#include "base/core/xxh3.h"

#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

namespace ratoon::xxh3_test {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Bytes of xxHash's own sanity check (tests/sanity_test.c): the top byte of a running product.
std::vector<std::byte> sanity_bytes(std::size_t count) {
  constexpr std::uint64_t kPrime64 = 11400714785074694797u;
  std::uint64_t generator = 2654435761u;
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(generator >> 56);
    generator *= kPrime64;
  }
  return bytes;
}

TEST(Xxh3, OfNothing) {
  EXPECT_EQ(xxh3_64({}), 0x2d06800538d394c2u);
  EXPECT_EQ(to_hex(xxh3_128({})), "99aa06d3014798d86001c324468d497f");
}

TEST(Xxh3, VectorsOfXxHash) {
  EXPECT_EQ(xxh3_64(sanity_bytes(1)), 0xc44bdff4074eecdbu);
  EXPECT_EQ(xxh3_128(sanity_bytes(1)), (Hash128{.high = 0xa6cd5e9392000f6a, .low = 0xc44bdff4074eecdb}));
}

TEST(Xxh3, EveryPathOfTheAlgorithmStreamsAlike) {
  // Its borders: 16, 128, 240 bytes, the internal buffer (256) and the stripe block (1024).
  for (const unsigned size : {0u, 1u, 3u, 4u, 8u, 9u, 16u, 17u, 128u, 129u, 240u, 241u, 255u, 256u, 257u,
                              1023u, 1024u, 1025u, 5000u}) {
    const std::vector<std::byte> data = sanity_bytes(size);
    Xxh3Stream stream;
    for (const std::byte& byte : data) stream.update(std::span(&byte, 1));
    EXPECT_EQ(stream.digest64(), xxh3_64(data)) << size;
    EXPECT_EQ(stream.digest128(), xxh3_128(data)) << size;
  }
}

TEST(Xxh3Stream, DigestsMayBeReadOnTheWay) {
  Xxh3Stream stream;
  EXPECT_EQ(stream.digest128(), xxh3_128({}));
  stream.update(bytes_of("ab"));
  EXPECT_EQ(stream.digest128(), xxh3_128(bytes_of("ab")));
  stream.update({});
  stream.update(bytes_of("c"));
  EXPECT_EQ(stream.digest128(), xxh3_128(bytes_of("abc")));
  EXPECT_EQ(stream.digest64(), xxh3_64(bytes_of("abc")));
  stream.reset();
  EXPECT_EQ(stream.digest64(), xxh3_64({}));
}

TEST(Xxh3Stream, Moves) {
  Xxh3Stream first;
  first.update(bytes_of("abc"));
  Xxh3Stream second(std::move(first));
  EXPECT_EQ(second.digest64(), xxh3_64(bytes_of("abc")));
  Xxh3Stream third;
  third = std::move(second);
  EXPECT_EQ(third.digest64(), xxh3_64(bytes_of("abc")));
}

TEST(Hash128, IsWrittenMostSignificantDigitFirst) {
  const Hash128 hash{.high = 0x0123456789abcdef, .low = 0xf};
  EXPECT_EQ(to_hex(hash), "0123456789abcdef000000000000000f");
  EXPECT_EQ(*parse_hash128(to_hex(hash)), hash);
  EXPECT_EQ(to_hex({}), std::string(32, '0'));
}

TEST(Hash128, RefusesEveryOtherForm) {
  for (const std::string& text :
       {std::string(), std::string(31, '0'), std::string(33, '0'), std::string(31, '0') + "A",
        std::string(31, '0') + "g", "0x" + std::string(30, '0'), " " + std::string(31, '0'),
        std::string(32, '\0')}) {
    const Result<Hash128> parsed = parse_hash128(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind(), ErrorKind::kInvalid);
  }
  EXPECT_LT(parse_hash128(std::string(1'000'000, 'x')).error().message().size(), 200u);
}

TEST(Hash128, IsAValue) {
  const Hash128 small{.high = 1, .low = 9};
  const Hash128 large{.high = 2, .low = 0};
  EXPECT_LT(small, large);
  EXPECT_EQ(std::set({small, large, small}).size(), 2u);
  EXPECT_EQ(std::unordered_set<Hash128>({small, large, small}).size(), 2u);
}

}  // namespace
}  // namespace ratoon::xxh3_test
