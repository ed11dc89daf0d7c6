#include "agent/src/checkpoint/pack/cover.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/pack/tiling.h"
#include "tests/support/sharded_checkpoint.h"

namespace ratoon::checkpoint::cover_test {
namespace {

using test::Box;
using testing::HasSubstr;
using enum ElementType;

struct Part {
  std::size_t pack;
  Box box;
};

test::WholeTensor whole(TensorShape shape, std::uint64_t seed = 1) {
  std::uint64_t count = 1;
  for (const auto size : shape) count *= size;
  return {
      .name = "w", .type = kFloat32, .shape = std::move(shape), .bytes = test::any_bytes(count * 4, seed)};
}

// The result of check_cover for a tensor in parts; nothing if it is complete.
std::string complaint(const TensorShape& shape, const std::vector<Part>& parts) {
  test::PackShelf shelf(8);
  for (const auto& part : parts) shelf.put(part.pack, whole(shape), part.box);
  const auto files = shelf.files();
  const auto index = test::index_of(files);
  if (!index) return index.error().message();
  const auto covered = check_cover(*index);
  return covered ? "" : covered.error().message();
}

TEST(Cover, AcceptsWhatIsThereOnce) {
  EXPECT_EQ(complaint({8, 3}, {{0, {{0, 0}, {8, 3}}}}), "");
  EXPECT_EQ(complaint({8, 3}, {{0, {{0, 0}, {5, 3}}}, {1, {{5, 0}, {3, 3}}}}), "");
  EXPECT_EQ(complaint({8, 3}, {{1, {{0, 0}, {8, 1}}}, {0, {{0, 1}, {8, 2}}}}), "");
  EXPECT_EQ(complaint({}, {{0, {{}, {}}}}), "");
  EXPECT_EQ(complaint({0, 3}, {{0, {{0, 0}, {0, 3}}}}), "");
  EXPECT_EQ(complaint({4}, {{0, {{0}, {4}}}, {1, {{4}, {0}}}, {2, {{2}, {0}}}}),
            "");  // ranks that hold nothing
}

TEST(Cover, AcceptsTilesInAnyArrangement) {
  const std::vector<Part> pinwheel = {{0, {{0, 0}, {1, 2}}},
                                      {1, {{0, 2}, {2, 1}}},
                                      {2, {{1, 0}, {2, 1}}},
                                      {3, {{2, 1}, {1, 2}}},
                                      {4, {{1, 1}, {1, 1}}}};
  EXPECT_EQ(complaint({3, 3}, pinwheel), "");
  EXPECT_THAT(complaint({3, 3}, {pinwheel.begin(), pinwheel.end() - 1}),
              HasSubstr("element [1,1] of tensor 'w'"));
}

TEST(Cover, AcceptsCopiesWithTheSameBytes) {
  EXPECT_EQ(complaint({8}, {{0, {{0}, {8}}}, {1, {{0}, {8}}}, {2, {{0}, {8}}}}), "");
  EXPECT_EQ(complaint({8}, {{0, {{0}, {4}}}, {1, {{0}, {4}}}, {2, {{4}, {4}}}}), "");
  EXPECT_EQ(complaint({}, {{0, {{}, {}}}, {3, {{}, {}}}}), "");
}

TEST(Cover, NamesWhatIsMissing) {
  EXPECT_EQ(complaint({8, 3}, {{0, {{0, 0}, {4, 3}}}, {3, {{5, 0}, {3, 3}}}}),
            "the packs do not fit together: element [4,0] of tensor 'w' of shape 8,3, parts of which are in "
            "r0, r3, "
            "is in no pack");
  EXPECT_THAT(complaint({8, 3}, {{0, {{1, 0}, {7, 3}}}}), HasSubstr("element [0,0] of tensor 'w'"));
  EXPECT_THAT(complaint({8, 3}, {{0, {{0, 0}, {7, 3}}}}), HasSubstr("element [7,0] of tensor 'w'"));
  EXPECT_THAT(complaint({8, 3}, {{0, {{0, 0}, {8, 2}}}}), HasSubstr("element [0,2] of tensor 'w'"));
  EXPECT_THAT(complaint({8}, {{0, {{0}, {0}}}}), HasSubstr("element [0] of tensor 'w' of shape 8"));
}

TEST(Cover, NamesWhatIsThereTwice) {
  EXPECT_EQ(complaint({8, 3}, {{0, {{0, 0}, {5, 3}}}, {3, {{4, 0}, {4, 3}}}}),
            "the packs do not fit together: element [4,0] of tensor 'w' of shape 8,3, parts of which are in "
            "r0, r3, "
            "is in r0 and in r3, in parts that overlap and are not copies");
  // The parts have as many elements as the tensor, but not the same ones.
  EXPECT_THAT(complaint({4}, {{0, {{0}, {2}}}, {1, {{1}, {2}}}}), HasSubstr("element [1] of tensor 'w'"));
  EXPECT_THAT(complaint({2, 2}, {{0, {{0, 0}, {2, 1}}}, {1, {{0, 0}, {1, 2}}}}), HasSubstr("element [0,0]"));
}

TEST(Cover, RefusesPartsOfOtherTensors) {
  const auto built = [](const std::vector<std::pair<test::WholeTensor, Box>>& parts) {
    test::PackShelf shelf(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) shelf.put(i, parts[i].first, parts[i].second);
    const auto files = shelf.files();
    const auto index = test::index_of(files);
    return index ? std::string() : index.error().message();
  };
  auto other_type = whole({8});
  other_type.type = kInt32;
  EXPECT_THAT(
      built({{whole({8}), {{0}, {4}}}, {other_type, {{4}, {4}}}}),
      HasSubstr(
          "is of type I32 and whole shape 8 in r1, and of type F32 and whole shape 8 in an earlier pack"));
  EXPECT_THAT(built({{whole({8}), {{0}, {4}}}, {whole({9}), {{4}, {4}}}}), HasSubstr("whole shape 9 in r1"));
  EXPECT_THAT(built({{whole({8}, 1), {{0}, {8}}}, {whole({8}, 2), {{0}, {8}}}}),
              HasSubstr("tensor 'w' is in r0 and in r1, in parts that are not known to have the same bytes"));
  EXPECT_EQ(built({{whole({8}), {{0}, {8}}}, {whole({8}), {{0}, {8}}}}), "");
}

TEST(Cover, CopiesOfForeignPacksAreNotKnownToBeAlike) {
  test::PackShelf shelf(2);
  shelf.put(0, whole({8}), {{0}, {8}});
  shelf.put(1, whole({8}), {{0}, {8}});
  const auto files = shelf.files();
  const auto index = PartIndex::build({{"a", &files[0].header.layout}, {"b", &files[1].header.layout}});
  ASSERT_FALSE(index);
  EXPECT_THAT(index.error().message(), HasSubstr("not known to have the same bytes"));
}

// Compared with counting, on every pair and many triples of boxes in a small grid.
TEST(Tiling, IsWhatCountingSays) {
  std::vector<Box> all;
  for (std::uint64_t a = 0; a < 3; ++a)
    for (std::uint64_t b = 0; b < 3; ++b)
      for (std::uint64_t h = 0; a + h <= 3; ++h)
        for (std::uint64_t w = 0; b + w <= 3; ++w) all.push_back({{a, b}, {h, w}});
  const auto check = [](const std::vector<const Box*>& some) {
    BoxList list(2);
    std::map<TensorShape, int> counts;
    for (const Box* box : some) {
      list.add(box->begin, TensorShape{box->begin[0] + box->shape[0], box->begin[1] + box->shape[1]});
      for (std::uint64_t i = 0; i < box->shape[0]; ++i)
        for (std::uint64_t j = 0; j < box->shape[1]; ++j) ++counts[{box->begin[0] + i, box->begin[1] + j}];
    }
    const auto fault = find_tiling_fault(list, TensorShape{0, 0}, TensorShape{3, 3});
    for (std::uint64_t i = 0; i < 3; ++i) {
      for (std::uint64_t j = 0; j < 3; ++j) {
        const int count = counts[{i, j}];
        if (count == 1) continue;
        ASSERT_TRUE(fault);
        ASSERT_EQ(fault->element, (TensorShape{i, j}));
        ASSERT_EQ(fault->times, static_cast<std::uint64_t>(count));
        return;
      }
    }
    ASSERT_FALSE(fault);
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i; j < all.size(); ++j) {
      check({&all[i], &all[j]});
      for (std::size_t k = j; k < all.size(); k += 7) check({&all[i], &all[j], &all[k]});
    }
  }
}

}  // namespace
}  // namespace ratoon::checkpoint::cover_test
