#include "agent/src/checkpoint/staging/streaming_copy.h"

#include <vector>

#include <gtest/gtest.h>

namespace ratoon::checkpoint::streaming_copy_test {
namespace {

TEST(StreamingCopy, IsACopyWhateverTheEndsAre) {
  std::vector<std::byte> from(20'000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256);
  for (const std::size_t size : {0, 1, 63, 64, 4095, 4096, 4097, 4159, 4160, 12'345}) {
    for (const std::size_t begin : {0, 1, 8}) {
      for (const std::size_t at : {0, 1, 16, 63, 64}) {
        std::vector<std::byte> to(from.size(), std::byte{0xee});
        std::vector<std::byte> expected = to;
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(begin), size,
                    expected.begin() + static_cast<std::ptrdiff_t>(at));
        copy_streaming(std::span(from).subspan(begin, size), to.data() + at);
        EXPECT_EQ(to, expected) << size << " bytes from " << begin << " to " << at;
      }
    }
  }
}

}  // namespace
}  // namespace ratoon::checkpoint::streaming_copy_test
