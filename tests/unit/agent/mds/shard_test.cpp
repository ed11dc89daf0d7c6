#include "agent/src/mds/format/shard.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "agent/src/mds/format/shard_builder.h"

namespace ratoon::mds::shard_test {
namespace {

using testing::HasSubstr;

std::string words(const std::vector<std::uint32_t>& values, const std::string& rest = "") {
  std::string bytes(4 * values.size(), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes + rest;
}

std::span<const std::byte> bytes_in(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(Shard, GivesEachSampleItsBytes) {
  const std::string file = words({3, 22, 23, 23, 26}, "{}abcd");
  const auto bytes = bytes_in(file);
  ASSERT_TRUE(check_shard(bytes, 3));
  const std::string found[] = {"a", "", "bcd"};
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto sample = sample_bytes(bytes, i);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(sample.data()), sample.size()), found[i]);
  }
}

TEST(Shard, MayBeEmpty) {
  EXPECT_TRUE(check_shard(bytes_in(words({0, 8})), 0));
  EXPECT_TRUE(check_shard(bytes_in(words({0, 10}, "{}")), 0));
}

TEST(Shard, IsRefusedWithWhatIsWrong) {
  const struct {
    const char* name;
    std::string file;
    std::uint32_t samples;
    const char* sentence;
  } cases[] = {
      {"nothing", "", 0, "has 0 bytes, but a shard has at least 8"},
      {"a word", words({0}), 0, "has 4 bytes"},
      {"more than the index says", words({2, 16, 16, 16}), 1, "2 samples, but the index says 1"},
      {"less than the index says", words({0, 8}), 1, "0 samples, but the index says 1"},
      {"a table that is cut off", words({2, 16, 16}), 2,
       "has 12 bytes, but the offsets of its 2 samples alone take 16"},
      {"as many samples as can be said", words({0xffffffff, 8}), 0xffffffff, "alone take 17179869188"},
      {"a sample inside of the table", words({1, 11, 12}), 1,
       "byte 11, inside of its offsets, which end at 12"},
      {"an end before the beginning", words({2, 17, 16, 18}, "ab"), 2,
       "ends its sample 0 at byte 16, before it begins at 17"},
      {"a beginning behind the end", words({2, 16, 19, 18}, "ab"), 2,
       "ends its sample 1 at byte 18, before it begins at 19"},
      {"bytes behind the last sample", words({1, 12, 13}, "ab"), 1,
       "ends its samples at byte 13, but has 14 bytes"},
      {"a last sample that is cut off", words({1, 12, 15}, "ab"), 1,
       "ends its samples at byte 15, but has 14 bytes"},
      {"an empty shard with bytes", words({0, 8}, "ab"), 0, "ends its samples at byte 8, but has 10 bytes"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto sound = check_shard(bytes_in(c.file), c.samples);
    ASSERT_FALSE(sound);
    EXPECT_EQ(sound.error().kind(), ErrorKind::kCorrupted);
    EXPECT_THAT(sound.error().message(), HasSubstr(c.sentence));
  }
}

// A mapped file may be changed by its writer: bytes that were right once are checked again.
TEST(Shard, GivesNothingWhereTheFileChangedSince) {
  std::string file = words({1, 12, 14}, "ab");
  const auto bytes = bytes_in(file);
  ASSERT_TRUE(check_shard(bytes, 1));
  for (const auto& changed :
       {words({1, 12, 15}, "ab"), words({1, 15, 14}, "ab"), words({1, 0xffffffff, 14}, "ab")}) {
    file.replace(0, file.size(), changed);
    EXPECT_TRUE(sample_bytes(bytes, 0).empty());
  }
}

// Streaming flushes where size_limit < new_shard_size + len(sample) + 4, which begins at 8 + len(config).
TEST(ShardBuilder, IsFullForTheFirstByteBeyondItsLimit) {
  ShardBuilder builder(std::string(10, 'c'), 100);
  EXPECT_FALSE(builder.is_full_for(100 - 22));
  EXPECT_TRUE(builder.is_full_for(100 - 22 + 1));
  ASSERT_TRUE(builder.add(std::string(30, 's')));
  EXPECT_FALSE(builder.is_full_for(100 - 52 - 4));
  EXPECT_TRUE(builder.is_full_for(100 - 52 - 4 + 1));
  ASSERT_TRUE(builder.add(std::string(100 - 52 - 4, 's')));
  EXPECT_EQ(builder.take_shard_file().size(), 100u);
  EXPECT_FALSE(builder.is_full_for(100 - 22)) << "the next shard is empty";
  EXPECT_FALSE(ShardBuilder("", 0).is_full_for(std::size_t{1} << 40)) << "no limit";
}

// The pages are never touched, so that they take no memory.
TEST(ShardBuilder, RefusesWhatOffsetsOf32BitsDoNotReach) {
  constexpr std::size_t kBytes = (std::size_t{1} << 32) - 1;
  void* const pages = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ShardBuilder builder("", 0);
  const auto refused = builder.add({static_cast<const char*>(pages), kBytes - 11});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("the shard would have 4294967296 bytes"));
  EXPECT_EQ(builder.samples(), 0u);
  ::munmap(pages, kBytes);
}

}  // namespace
}  // namespace ratoon::mds::shard_test
