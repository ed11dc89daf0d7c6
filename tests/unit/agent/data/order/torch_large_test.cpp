// Permutations that take gigabytes or half a minute. The first ten numbers and the digest come from LibTorch
// 2.11.0; those of torch-legacy come from torch 2.5.1.
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/torch_random.h>

#include "tests/unit/agent/data/golden/torch_vectors.h"

namespace ratoon::torch_large_test {
namespace {

using testing::ElementsAreArray;

struct LargeCase {
  std::uint64_t size;
  TorchRelease release;
  std::vector<std::uint64_t> first;
  std::uint64_t digest;
};

class TorchRandpermNightly : public testing::TestWithParam<LargeCase> {};

TEST_P(TorchRandpermNightly, IsThatOfPyTorch) {
  TorchGenerator generator(0);
  const IndexList order = torch_randperm(GetParam().size, generator, GetParam().release);
  std::vector<std::uint64_t> first;
  std::uint64_t digest = test::kDigestStart;
  for (std::uint64_t place = 0; place < order.size(); ++place) {
    if (place < 10) first.push_back(order[place]);
    digest = test::digest_of(std::array{order[place]}, digest);
  }
  EXPECT_THAT(first, ElementsAreArray(GetParam().first));
  EXPECT_EQ(digest, GetParam().digest);
}

INSTANTIATE_TEST_SUITE_P(Sizes, TorchRandpermNightly,
                         testing::Values(LargeCase{100000000,
                                                   TorchRelease::kSince2_6,
                                                   {57136044, 46248265, 71714995, 26093871, 88849067,
                                                    84848564, 40255571, 38918762, 19583649, 78185926},
                                                   0xd83e85c379741a7f},
                                         LargeCase{214748363,
                                                   TorchRelease::kSince2_6,
                                                   {209652414, 184016258, 65237881, 190120003, 11868659,
                                                    34126298, 192771863, 202944814, 101596665, 101205444},
                                                   0x16d71585d0962c74},
                                         LargeCase{214748364,
                                                   TorchRelease::kSince2_6,
                                                   {180140102, 136514640, 18739608, 22357822, 33761584,
                                                    3964423, 190519392, 171944721, 11442467, 130078369},
                                                   0x895d22b20914f22f},
                                         LargeCase{214748364,
                                                   TorchRelease::kBefore2_6,
                                                   {209652404, 184016247, 65237867, 190119987, 11868647,
                                                    34126281, 192771853, 202944798, 101596657, 101205432},
                                                   0x816ea233998e0e21}),
                         [](const auto& each) {
                           return std::to_string(each.param.size) +
                                  (each.param.release == TorchRelease::kBefore2_6 ? "_legacy" : "_since_2_6");
                         });

}  // namespace
}  // namespace ratoon::torch_large_test
