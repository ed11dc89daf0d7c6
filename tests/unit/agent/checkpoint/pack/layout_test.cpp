#include "agent/src/checkpoint/pack/header/layout.h"

#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/header_json.h"
#include "agent/src/checkpoint/pack/header/safetensors_types.h"

namespace ratoon::checkpoint::layout_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using enum ElementType;

constexpr std::uint64_t kHuge = 1ULL << 62;

std::string complaint_of(std::vector<TensorSpec> specs) {
  const auto layout = plan_pack(specs);
  if (layout) return "";
  EXPECT_EQ(layout.error().kind(), ErrorKind::kInvalid);
  return layout.error().message();
}

TEST(PackTypes, HaveOneNameEachAndComeBack) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(kComplex64); ++i) {
    const auto type = static_cast<ElementType>(i);
    const bool is_plain_bytes = type == kBytes || type == kText;
    EXPECT_EQ(element_type_named(safetensors_name(type)), is_plain_bytes ? kUint8 : type) << i;
    names.insert(safetensors_name(type));
  }
  EXPECT_EQ(names.size(), 16u);
  EXPECT_EQ(safetensors_name(kFloat64), "F64");
  EXPECT_EQ(safetensors_name(kFloat8E4m3Fn), "F8_E4M3");
  EXPECT_EQ(safetensors_name(kText), "U8");
  for (const auto* unknown : {"F4", "F6_E2M3", "F8_E8M0", "f32", "", "F32 "})
    EXPECT_EQ(element_type_named(unknown), std::nullopt) << unknown;
}

// A wider element never lies behind a narrower one: then each begins where its size divides.
TEST(PackTypes, OfHigherRankAreAtLeastAsWide) {
  for (int a = 0; a <= static_cast<int>(kComplex64); ++a) {
    for (int b = 0; b <= static_cast<int>(kComplex64); ++b) {
      const auto one = static_cast<ElementType>(a);
      const auto other = static_cast<ElementType>(b);
      if (storage_order(one) > storage_order(other)) {
        EXPECT_GE(size_of(one), size_of(other));
      }
    }
  }
}

TEST(PackLayout, LiesInTheOrderOfSafetensorsWithoutHoles) {
  const std::vector<TensorSpec> specs = {
      {"b", kFloat32, {2, 3}}, {"z", kInt64, {}},   {"a", kFloat32, {1}},
      {"t", kText, {5}},       {"e", kInt64, {0}},  {"n", kUint8, {2}, TensorBox{{1}, {4}}},
      {"x", kBool, {3}},       {"u", kUint64, {1}},
  };
  EXPECT_THAT(data_order(specs), ElementsAre(7, 4, 1, 2, 0, 5, 3, 6));
  const PackLayout layout = plan_pack(specs).value();
  std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>> places;
  for (const auto& tensor : layout.tensors) places.emplace_back(tensor.name, tensor.begin, tensor.end);
  using P = std::tuple<std::string, std::uint64_t, std::uint64_t>;
  EXPECT_THAT(places, ElementsAre(P{"u", 0, 8}, P{"e", 8, 8}, P{"z", 8, 16}, P{"a", 16, 20}, P{"b", 20, 44},
                                  P{"n", 44, 46}, P{"t", 46, 51}, P{"x", 51, 54}));
  EXPECT_EQ(layout.tensors[5].box, (TensorBox{{1}, {4}}));
  EXPECT_EQ(layout.data_bytes, 54u);
  EXPECT_EQ(layout.header_bytes, 4096u);
  EXPECT_EQ(layout.file_bytes(), 4150u);
  EXPECT_EQ(layout.block_count(), 1u);
}

TEST(PackLayout, OfNothingIsAHeader) {
  const PackLayout layout = plan_pack({}).value();
  EXPECT_EQ(layout.file_bytes(), 4096u);
  EXPECT_EQ(layout.block_count(), 0u);
}

TEST(PackLayout, CountsBlocks) {
  const auto blocks = [](std::uint64_t bytes) {
    return plan_pack(std::vector<TensorSpec>{{"a", kUint8, {bytes}}}).value().block_count();
  };
  EXPECT_EQ(blocks(1), 1u);
  EXPECT_EQ(blocks(kPackBlockBytes), 1u);
  EXPECT_EQ(blocks(kPackBlockBytes + 1), 2u);
}

// The header grows with checksums: its length is correct at every length around a page.
TEST(PackLayout, HeaderFillsWholePages) {
  for (std::size_t length = 3700; length < 4000; ++length) {
    const std::vector<TensorSpec> specs = {{std::string(length, 'n'), kUint8, {kPackBlockBytes * 3}}};
    const PackLayout layout = plan_pack(specs).value();
    const std::size_t json =
        header_json(layout, std::vector<std::uint32_t>(3), std::vector<Hash128>(1)).size();
    EXPECT_EQ(layout.header_bytes % 4096, 0u);
    EXPECT_GE(layout.header_bytes, json + 8);
    EXPECT_LT(layout.header_bytes, json + 8 + 4096);
  }
}

TEST(PackLayout, RefusesWhatAFileCannotHold) {
  EXPECT_THAT(complaint_of({{"a", kUint8, {1}}, {"b", kUint8, {1}}, {"a", kFloat32, {1}}}),
              HasSubstr("tensor 'a' cannot be saved: two tensors have this name"));
  EXPECT_THAT(complaint_of({{"__metadata__", kUint8, {1}}}), HasSubstr("safetensors reserves this name"));
  EXPECT_THAT(complaint_of({{"a\xff", kUint8, {1}}}), HasSubstr("not UTF-8"));
  EXPECT_THAT(complaint_of({{"a", kUint8, {kHuge, 4}}}),
              HasSubstr("cannot hold the shape 4611686018427387904,4"));
  EXPECT_THAT(complaint_of({{"a", kUint8, {kHuge, 4, 0}}}), HasSubstr("cannot hold the shape"));
  EXPECT_THAT(complaint_of({{"a", kUint8, {0, kHuge, 4}}}), HasSubstr("cannot hold the shape"));
  EXPECT_THAT(complaint_of({{"a", kFloat64, {kHuge}}}), HasSubstr("cannot hold the shape"));
  EXPECT_THAT(complaint_of({{"a", kUint8, {kHuge}}, {"b", kUint8, {kHuge}}}), HasSubstr("tensor 'b'"));
  EXPECT_THAT(complaint_of({{"a", kUint8, TensorShape(65, 1)}}), HasSubstr("found 65 dimensions"));
  EXPECT_EQ(complaint_of({{"a", kUint8, TensorShape(64, 1)}}), "");
  EXPECT_EQ(complaint_of({{"a", kUint8, {0, kHuge}}}), "");
}

TEST(PackLayout, RefusesBoxesThatDoNotHoldTheirShape) {
  const auto boxed = [](TensorShape shape, TensorShape begin, TensorShape whole) {
    return complaint_of({{"a", kFloat32, std::move(shape), TensorBox{std::move(begin), std::move(whole)}}});
  };
  EXPECT_EQ(boxed({2, 3}, {6, 0}, {8, 3}), "");
  EXPECT_EQ(boxed({0, 3}, {8, 0}, {8, 3}), "");
  EXPECT_THAT(boxed({2, 3}, {7, 0}, {8, 3}), HasSubstr("a part of shape 2,3 does not fit at 7,0 of 8,3"));
  EXPECT_THAT(boxed({2, 3}, {0}, {8, 3}), HasSubstr("does not fit"));
  EXPECT_THAT(boxed({2, 3}, {0, 0}, {8}), HasSubstr("does not fit"));
  EXPECT_THAT(boxed({9, 3}, {0, 0}, {8, 3}), HasSubstr("does not fit"));
  EXPECT_THAT(boxed({2}, {~0ULL}, {8}), HasSubstr("does not fit"));
  EXPECT_THAT(boxed({2, 1}, {0, 0}, {kHuge, 2}),
              HasSubstr("the whole shape 4611686018427387904,2 overflows"));
}

TEST(PackLayout, RefusesHeadersThatOtherReadersWouldNotTake) {
  std::vector<TensorSpec> specs(10);
  for (std::size_t i = 0; i < specs.size(); ++i)
    specs[i].name = std::string(9'000'000, 'n') + std::to_string(i);
  EXPECT_EQ(complaint_of(specs), "");
  for (auto& spec : specs) spec.name.append(1'100'000, 'n');
  EXPECT_THAT(complaint_of(specs), HasSubstr("divide it into several packs"));
}

TEST(PackBoxes, AreReadAsTheyAreWritten) {
  EXPECT_EQ(to_text(TensorBox{{4, 0}, {8, 16}}), "4,0 of 8,16");
  for (const auto& box : {TensorBox{{4, 0}, {8, 16}}, TensorBox{{}, {}}, TensorBox{{0}, {~0ULL}}})
    EXPECT_EQ(parse_box(to_text(box)), box);
  for (const auto* wrong : {"", "4", "4 of", "4 of x", "04 of 8", "4, of 8,1", ",4 of 8", "4 of 8 ",
                            "-1 of 8", "+1 of 8", "4  of 8", "99999999999999999999 of 8", "1 of 2 of 3"})
    EXPECT_EQ(parse_box(wrong), std::nullopt) << wrong;
  std::string many = "0";
  for (int i = 0; i < 64; ++i) many += ",0";
  EXPECT_EQ(parse_box(many + " of " + many), std::nullopt);
}

TEST(PackNames, AreCutBetweenCharacters) {
  EXPECT_EQ(in_quotes("short"), "'short'");
  EXPECT_EQ(in_quotes(std::string(119, 'n') + "\u00e9tat"), "'" + std::string(119, 'n') + "...'");
  EXPECT_EQ(in_quotes(std::string(500, 'n')).size(), 125u);
}

TEST(PackNames, AreUtf8) {
  for (const auto* good :
       {"", "plain", "\u00e9", "\u20ac", "\U0001f331", "\x7f", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const auto* bad : {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xf8\x88\x80\x80", "\xc3(", "\xe2\x82", "\xf0\x80\x80\x80", "\xff"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
}

}  // namespace
}  // namespace ratoon::checkpoint::layout_test
