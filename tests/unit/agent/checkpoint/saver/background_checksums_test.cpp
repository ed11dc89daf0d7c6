#include "agent/src/checkpoint/saver/background_checksums.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/failing_calls/draw.h"

namespace ratoon::checkpoint::background_sums_test {
namespace {

// Few bytes are summed by the caller and many on a thread; both end in the middle of a piece.
class BackgroundSumsTest : public testing::TestWithParam<std::size_t> {
 protected:
  BackgroundSumsTest() : data_(GetParam()) {
    std::uint64_t mark = 1;
    for (std::size_t i = 0; i + 8 <= data_.size(); i += 8) {
      mark = mark * 6364136223846793005 + 1442695040888963407;
      std::memcpy(&data_[i], &mark, 8);
    }
    const std::size_t first = data_.size() / 3;
    const TensorSpec specs[] = {{.name = "a", .shape = {first}},
                                {.name = "b", .shape = {data_.size() - first}}};
    layout_ = plan_pack(specs).value();
  }
  std::vector<std::byte> data_;
  PackLayout layout_;
};

TEST_P(BackgroundSumsTest, AreThoseThatAreMadeAtOnce) {
  PackChecksums at_once(layout_);
  at_once.add(data_);
  PackChecksums sums(layout_);
  const auto odd = data_.size() / 7;
  BackgroundChecksums beside(sums, {std::span(data_).first(odd), {}, std::span(data_).subspan(odd)});
  beside.finish();
  EXPECT_EQ(sums.block_crcs(), at_once.block_crcs());
  EXPECT_EQ(sums.hashes(), at_once.hashes());
  EXPECT_EQ(sums.hashes().size(), 2U);
}

TEST_P(BackgroundSumsTest, AreMadeHereWhereTheSystemRefusesAThread) {
  PackChecksums at_once(layout_);
  at_once.add(data_);
  PackChecksums sums(layout_);
  const test::failing::Fault fault(test::failing::Call::kThread, EAGAIN);
  BackgroundChecksums beside(sums, {data_});
  beside.finish();
  EXPECT_EQ(sums.block_crcs(), at_once.block_crcs());
  EXPECT_EQ(sums.hashes(), at_once.hashes());
}

TEST_P(BackgroundSumsTest, EndWithTheirObject) {
  PackChecksums sums(layout_);
  {
    const BackgroundChecksums beside(sums, {data_});
  }
  EXPECT_LE(sums.hashes().size(), 2U);  // and nobody writes to them any more, as tsan would see
}

TEST_P(BackgroundSumsTest, OfWhatIsStillToComeWaitForIt) {
  PackChecksums sums(layout_);
  std::atomic<std::uint64_t> asked{0};
  BackgroundChecksums beside(sums, data_, [&](std::uint64_t bytes) { return asked = bytes, true; });
  beside.finish();
  EXPECT_EQ(asked.load(), data_.size());
  PackChecksums none(layout_);
  BackgroundChecksums cancelled(none, data_, [](std::uint64_t) { return false; });
  cancelled.finish();
  EXPECT_TRUE(none.block_crcs().empty());
}

INSTANTIATE_TEST_SUITE_P(Sizes, BackgroundSumsTest, testing::Values(0, 100'001, 8 << 20, (9 << 20) + 12'345));

}  // namespace
}  // namespace ratoon::checkpoint::background_sums_test
