#include "base/core/crc32c.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <ratoon/counter_random.h>

namespace ratoon::crc32c_test {
namespace {

using Way = std::uint32_t (*)(std::span<const std::byte>, std::uint32_t);

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::vector<std::byte> random_bytes(std::size_t count) {
  CounterRandom random(1, "crc32c_test");
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next_u32());
  return bytes;
}

class Crc32c : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (GetParam() == crc32c_ways::hardware && !crc32c_ways::has_hardware()) {
      GTEST_SKIP() << "this processor has no SSE4.2";
    }
  }
};

std::string name_of_way(const testing::TestParamInfo<Way>& info) {
  if (info.param == crc32c_ways::portable) return "portable";
  return info.param == crc32c_ways::hardware ? "hardware" : "chosen";
}

INSTANTIATE_TEST_SUITE_P(Ways, Crc32c,
                         testing::Values(&crc32c, &crc32c_ways::portable, &crc32c_ways::hardware),
                         name_of_way);

TEST_P(Crc32c, VectorsOfRfc3720) {
  const auto crc = [](std::span<const std::byte> data) { return GetParam()(data, 0); };
  std::array<std::byte, 32> data{};
  EXPECT_EQ(crc(data), 0x8a9136aau);
  data.fill(std::byte{0xff});
  EXPECT_EQ(crc(data), 0x62a8ab43u);
  for (std::size_t i = 0; i < data.size(); ++i) data.at(i) = static_cast<std::byte>(i);
  EXPECT_EQ(crc(data), 0x46dd794eu);
  for (std::size_t i = 0; i < data.size(); ++i) data.at(i) = static_cast<std::byte>(31 - i);
  EXPECT_EQ(crc(data), 0x113fdb5cu);

  // An iSCSI Read (10) command.
  std::array<std::byte, 48> command{};
  command[0] = std::byte{0x01};
  command[1] = std::byte{0xc0};
  command[16] = std::byte{0x14};
  command[22] = std::byte{0x04};
  command[27] = std::byte{0x14};
  command[31] = std::byte{0x18};
  command[32] = std::byte{0x28};
  command[40] = std::byte{0x02};
  EXPECT_EQ(crc(command), 0xd9963a56u);
}

TEST_P(Crc32c, OfTheUsualCheckText) {
  EXPECT_EQ(GetParam()(bytes_of("123456789"), 0), 0xe3069283u);
  EXPECT_EQ(GetParam()({}, 0), 0u);
  EXPECT_EQ(GetParam()({}, 0x12345678), 0x12345678u) << "nothing more changes nothing";
}

TEST_P(Crc32c, ExtendsAtEverySplit) {
  const std::string_view text = "The quick brown fox jumps over the lazy dog";
  for (std::size_t split = 0; split <= text.size(); ++split) {
    const std::uint32_t front = GetParam()(bytes_of(text.substr(0, split)), 0);
    EXPECT_EQ(GetParam()(bytes_of(text.substr(split)), front), 0x22620404u) << split;
  }
}

// Sizes around every border of the interleaved blocks (3 * 256 and 3 * 8192 bytes).
TEST(Crc32cWays, AgreeAroundTheBlockBorders) {
  if (!crc32c_ways::has_hardware()) GTEST_SKIP() << "this processor has no SSE4.2";
  const std::vector<std::byte> data = random_bytes(3 * 8192 + 3 * 768 + 64);
  for (const std::size_t border : {768u, 2 * 768u, 3 * 8192u, 3 * 8192u + 768u, 3 * 8192u + 2 * 768u}) {
    for (std::size_t size = border - 9; size <= border + 9; ++size) {
      const auto part = std::span(data).first(size);
      ASSERT_EQ(crc32c_ways::hardware(part), crc32c_ways::portable(part)) << size;
    }
  }
}

TEST(Crc32cCombine, JoinsParts) {
  const std::vector<std::byte> data = random_bytes(100'000);
  const std::uint32_t whole = crc32c(data);
  for (const std::size_t split : {0u, 1u, 7u, 4096u, 65'536u, 99'999u, 100'000u}) {
    const std::span<const std::byte> all(data);
    EXPECT_EQ(crc32c_combine(crc32c(all.first(split)), crc32c(all.subspan(split)), data.size() - split),
              whole)
        << split;
  }
}

// All 64 powers in use; computed by LengthsRepeat's rule: 2^64 - 1 modulo 2^31 - 1 is 3.
TEST(Crc32cCombine, TakesLengthsBeyondMemory) {
  const std::array<std::byte, 3> zeros{};
  const std::uint32_t before = crc32c(bytes_of("123456789"));
  EXPECT_EQ(crc32c_combine(before, crc32c(zeros), ~std::uint64_t{0}), crc32c(zeros, before));
}

}  // namespace
}  // namespace ratoon::crc32c_test
