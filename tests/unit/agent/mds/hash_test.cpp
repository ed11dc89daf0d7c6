#include "agent/src/mds/format/hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::mds::hash_test {
namespace {

std::span<const std::byte> bytes_in(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// From Python's hashlib and xxhash, of "abc"; golden/hashes has those that Streaming writes.
TEST(Hash, IsWhatPythonSays) {
  const std::pair<const char*, const char*> cases[] = {
      {"md5", "900150983cd24fb0d6963f7d28e17f72"},
      {"md5-sha1", "900150983cd24fb0d6963f7d28e17f72a9993e364706816aba3e25717850c26c9cd0d89d"},
      {"ripemd160", "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"},
      {"sm3", "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0"},
      {"sha512_224", "4634270f707b6a54daae7530460842e20e37ed265ceee9a43e8924aa"},
      {"sha512_256", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"},
      {"xxh32", "32d153ff"},
      {"xxh64", "44bc2cf5ad770999"},
      {"xxh3_64", "78af5f94892f3950"},
      {"xxh128", "06b05ab6733a618578af5f94892f3950"},
  };
  for (const auto& [name, digest] : cases) {
    EXPECT_EQ(hash_of(name, bytes_in("abc")).value(), digest) << name;
    EXPECT_EQ(digest_digit_count(name), std::string_view(digest).size()) << name;
  }
  EXPECT_EQ(hash_of("xxh32", {}).value(), "02cc5d05");
}

TEST(Hash, UnknownOnesAreNamed) {
  for (const char* name : {"shake_128", "shake_256", "crc32c", "SHA1", ""}) {
    EXPECT_EQ(digest_digit_count(name), std::nullopt);
    const auto hash = hash_of(name, {});
    ASSERT_FALSE(hash);
    EXPECT_THAT(hash.error().message(),
                testing::StartsWith("the hash '" + std::string(name) + "' is unknown; expected one of: "));
  }
}

TEST(Hash, EveryOneIsChecked) {
  const std::vector<FileHash> both = {{"md5", hash_of("md5", bytes_in("abc")).value()},
                                      {"xxh32", hash_of("xxh32", bytes_in("abc")).value()}};
  EXPECT_TRUE(check_hashes(both, bytes_in("abc")));
  EXPECT_TRUE(check_hashes({}, bytes_in("abc")));
  for (std::size_t wrong = 0; wrong < both.size(); ++wrong) {
    auto changed = both;
    changed[wrong].digest[0] = changed[wrong].digest[0] == '0' ? '1' : '0';
    const auto checked = check_hashes(changed, bytes_in("abc"));
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().kind(), ErrorKind::kCorrupted);
    EXPECT_EQ(checked.error().message(), "the " + both[wrong].algorithm + " is " + both[wrong].digest +
                                             ", but the index says " + changed[wrong].digest);
  }
}

}  // namespace
}  // namespace ratoon::mds::hash_test
