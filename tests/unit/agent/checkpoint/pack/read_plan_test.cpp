#include "agent/src/checkpoint/pack/read_plan.h"

#include <algorithm>
#include <ctime>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/model_shapes.h"
#include "tests/support/sharded_checkpoint.h"

namespace ratoon::checkpoint::read_plan_test {
namespace {

using test::Box;
using test::WholeTensor;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using enum ElementType;

constexpr std::uint64_t kMiB = 1024 * 1024;

WholeTensor tensor(std::string name, TensorShape shape, ElementType type = kUint8) {
  std::uint64_t bytes = size_of(type);
  for (const auto size : shape) bytes *= size;
  return {.name = std::move(name),
          .type = type,
          .shape = std::move(shape),
          .bytes = test::any_bytes(bytes, bytes)};
}

TensorSpec slice(const WholeTensor& tensor, TensorShape begin, TensorShape shape) {
  return {tensor.name, tensor.type, std::move(shape), TensorBox{std::move(begin), tensor.shape}};
}

TensorSpec all_of(const WholeTensor& tensor) {
  return {tensor.name, tensor.type, tensor.shape};
}

std::vector<test::PackFile> one_pack(const std::vector<WholeTensor>& tensors) {
  test::PackShelf shelf(1);
  for (const auto& one : tensors) shelf.put(0, one, {TensorShape(one.shape.size()), one.shape});
  return shelf.files();
}

ReadPlan plan_of(const std::vector<test::PackFile>& files, const std::vector<TensorSpec>& wanted,
                 std::uint32_t reader = 0) {
  return plan_reads(test::index_of(files).value(), wanted, reader).value();
}

std::string refusal(const std::vector<test::PackFile>& files, const TensorSpec& wanted, ErrorKind kind) {
  const auto plan = plan_reads(test::index_of(files).value(), std::vector<TensorSpec>{wanted}, 0);
  if (plan) return "";
  EXPECT_EQ(plan.error().kind(), kind);
  return plan.error().message();
}

std::string loaded(const std::vector<test::PackFile>& files, const TensorSpec& wanted, std::uint64_t bytes) {
  std::string found(bytes, '?');
  const std::vector<std::span<std::byte>> destinations = {std::as_writable_bytes(std::span(found))};
  EXPECT_TRUE(test::carry_out(plan_of(files, {wanted}), files, destinations));
  return found;
}

TEST(StridedCopy, HasAsFewRowsAsThereCanBe) {
  std::vector<CopyLoop> loops;
  const auto copy = [&](TensorShape shape, TensorShape from_begin, TensorShape from, TensorShape to_begin,
                        TensorShape to) {
    loops.clear();
    return make_copy(shape, {from_begin, from, 1000}, {to_begin, to, 0}, 4, loops);
  };
  EXPECT_EQ(copy({8, 3}, {0, 0}, {8, 3}, {0, 0}, {8, 3}), (StridedCopy{1000, 0, 96, 0, 0, 1096}));
  EXPECT_EQ(copy({2, 3}, {5, 0}, {8, 3}, {1, 0}, {4, 3}), (StridedCopy{1060, 12, 24, 0, 0, 1084}));
  EXPECT_EQ(copy({}, {}, {}, {}, {}), (StridedCopy{1000, 0, 4, 0, 0, 1004}));
  EXPECT_EQ(copy({2, 2}, {1, 1}, {4, 3}, {0, 0}, {2, 2}), (StridedCopy{1016, 0, 8, 0, 1, 1036}));
  EXPECT_THAT(loops, ElementsAre(CopyLoop{2, 12, 8}));
  // Two dimensions that are complete on both sides become one loop; a dimension of a single element becomes
  // none.
  EXPECT_EQ(copy({5, 1, 7, 2}, {0, 2, 0, 0}, {5, 3, 7, 4}, {0, 0, 0, 0}, {5, 1, 7, 2}).loop_count, 2u);
  EXPECT_THAT(loops, ElementsAre(CopyLoop{5, 336, 56}, CopyLoop{7, 16, 8}));
  EXPECT_EQ(copy({5, 7, 2}, {0, 0, 0}, {5, 7, 4}, {0, 0, 0}, {5, 7, 2}).loop_count, 1u);
  EXPECT_THAT(loops, ElementsAre(CopyLoop{35, 16, 8}));
  // If they are complete on one side only, they stay two loops.
  EXPECT_EQ(copy({5, 7, 2}, {0, 0, 0}, {5, 7, 4}, {0, 0, 0}, {5, 9, 3}).loop_count, 2u);
  EXPECT_EQ(copy({5, 7, 2}, {0, 0, 0}, {5, 9, 4}, {0, 0, 0}, {5, 7, 3}).loop_count, 2u);
}

// Cut into any two pieces, at every byte.
TEST(StridedCopy, CanBeDoneInPieces) {
  const WholeTensor whole = tensor("w", {3, 4, 5}, kInt16);
  const TensorShape begin = {1, 1, 2};
  const TensorShape shape = {2, 3, 2};
  const std::string expected = test::bytes_of_box(whole, begin, shape);
  std::vector<CopyLoop> loops;
  const TensorShape zero(3);
  const StridedCopy copy = make_copy(shape, {begin, whole.shape, 0}, {zero, shape, 0}, 2, loops);
  for (std::size_t cut = 0; cut <= whole.bytes.size(); ++cut) {
    std::string found(expected.size(), '?');
    const auto bytes = test::bytes_of(whole.bytes);
    copy_rows(copy, loops, 0, bytes.first(cut), std::as_writable_bytes(std::span(found)));
    copy_rows(copy, loops, cut, bytes.subspan(cut), std::as_writable_bytes(std::span(found)));
    ASSERT_EQ(found, expected) << cut;
  }
}

TEST(ReadPlan, OneTensorOrSliceIsReadAlone) {
  const std::vector<WholeTensor> tensors = {tensor("a", {300'000}), tensor("b", {7}),
                                            tensor("c", {500, 1000}), tensor("d", {kMiB})};
  const auto files = one_pack(tensors);
  for (const auto& one : tensors)
    EXPECT_EQ(loaded(files, all_of(one), one.bytes.size()), one.bytes) << one.name;

  const ReadPlan small = plan_of(files, {all_of(tensors[1])});
  ASSERT_EQ(small.packs.size(), 1u);
  EXPECT_EQ(small.bytes_read, 7u);
  EXPECT_THAT(small.packs[0].extents[0].hashed, ElementsAre(1));
  EXPECT_EQ(small.packs[0].extents[0].block_count, 0u);

  const ReadPlan few = plan_of(files, {slice(tensors[1], {2}, {3})});  // the tensor is less than its block
  EXPECT_EQ(few.bytes_read, 7u);
  EXPECT_THAT(few.packs[0].extents[0].hashed, ElementsAre(1));

  const TensorSpec rows = slice(tensors[2], {100, 0}, {50, 1000});
  EXPECT_EQ(loaded(files, rows, 50'000), tensors[2].bytes.substr(100'000, 50'000));
  const ReadPlan part = plan_of(files, {rows});  // 400,007 to 450,007: blocks 12 and 13
  EXPECT_EQ(part.bytes_read, 2 * kPackBlockBytes);
  EXPECT_EQ(part.packs[0].extents[0].first_block, 12u);
  EXPECT_EQ(part.packs[0].extents[0].block_count, 2u);
  EXPECT_THAT(part.packs[0].extents[0].hashed, IsEmpty());
}

TEST(ReadPlan, WhatIsAllReadIsVerifiedByBlocks) {
  const std::vector<WholeTensor> tensors = {tensor("a", {300'000}), tensor("b", {7}), tensor("c", {500'000})};
  const auto files = one_pack(tensors);
  const ReadPlan plan = plan_of(files, {all_of(tensors[2]), all_of(tensors[0]), all_of(tensors[1])});
  ASSERT_EQ(plan.packs.size(), 1u);
  ASSERT_EQ(plan.packs[0].extents.size(), 1u);
  EXPECT_EQ(plan.packs[0].extents[0].block_count, files[0].header.layout.block_count());
  EXPECT_THAT(plan.packs[0].extents[0].hashed, IsEmpty());
  EXPECT_EQ(plan.bytes_read, 800'007u);
  EXPECT_EQ(plan.bytes_wanted, 800'007u);
}

TEST(ReadPlan, ExtentsEndWithBlocksAndVouchForThemselves) {
  const WholeTensor large = tensor("a", {40 * kMiB + 5});
  const WholeTensor small = tensor("0", {3});
  const auto files = one_pack({small, large});
  const ReadPlan plan = plan_of(files, {all_of(large)});
  ASSERT_EQ(plan.packs[0].extents.size(), 3u);
  std::uint64_t blocks = 0;
  for (const auto& extent : plan.packs[0].extents) {
    EXPECT_LE(extent.end - extent.begin, kExtentBytesMax);
    EXPECT_EQ(extent.begin % kPackBlockBytes, 0u);
    blocks += extent.block_count;
  }
  EXPECT_EQ(blocks, files[0].header.layout.block_count());
  EXPECT_EQ(loaded(files, all_of(large), large.bytes.size()), large.bytes);
}

// Two hashed tensors, one at each ragged end, with more than an extent between the outer ends.
TEST(ReadPlan, NoHashedTensorIsCut) {
  const std::uint64_t long_one = 4 * kMiB - 1000;
  const std::vector<WholeTensor> tensors = {tensor("a", {100}),
                                            tensor("b", {long_one}),
                                            tensor("c", {4 * kMiB}),
                                            tensor("d", {long_one}),
                                            tensor("e", {4 * kMiB - 64 * 1024}),
                                            tensor("f", {long_one}),
                                            tensor("g", {100'000})};
  const auto files = one_pack(tensors);
  const ReadPlan plan = plan_of(files, {all_of(tensors[1]), all_of(tensors[2]), all_of(tensors[3]),
                                        all_of(tensors[4]), all_of(tensors[5])});
  const auto& layout = files[0].header.layout;
  std::vector<std::uint32_t> hashed;
  ASSERT_EQ(plan.packs[0].extents.size(), 2u);
  for (const auto& extent : plan.packs[0].extents) {
    for (const std::uint32_t number : extent.hashed) {
      EXPECT_LE(extent.begin, layout.tensors[number].begin);
      EXPECT_GE(extent.end, layout.tensors[number].end);
      hashed.push_back(number);
    }
  }
  EXPECT_THAT(hashed, ElementsAre(1, 5));
  std::vector<std::string> found;
  std::vector<std::span<std::byte>> destinations;
  for (std::size_t i = 1; i <= 5; ++i) found.emplace_back(tensors[i].bytes.size(), '?');
  for (auto& bytes : found) destinations.push_back(std::as_writable_bytes(std::span(bytes)));
  ASSERT_TRUE(test::carry_out(plan, files, destinations));
  for (std::size_t i = 1; i <= 5; ++i) EXPECT_EQ(found[i - 1], tensors[i].bytes);
}

// A slice, verified by its blocks, and beside it a tensor that ends in the middle of a block.
TEST(ReadPlan, BlocksAndHashesVouchForOneExtent) {
  const std::vector<WholeTensor> tensors = {tensor("c", {100'000}), tensor("d", {50'000}),
                                            tensor("e", {100'000})};
  auto files = one_pack(tensors);
  const std::vector<TensorSpec> wanted = {slice(tensors[0], {90'000}, {10'000}), all_of(tensors[1])};
  const ReadPlan plan = plan_of(files, wanted);
  ASSERT_EQ(plan.packs[0].extents.size(), 1u);
  const Extent& extent = plan.packs[0].extents[0];
  EXPECT_EQ(extent.begin, 2 * kPackBlockBytes);
  EXPECT_EQ(extent.end, 150'000u);
  EXPECT_EQ(extent.first_block, 2u);
  EXPECT_EQ(extent.block_count, 2u);
  EXPECT_THAT(extent.hashed, ElementsAre(1));
  std::string one(10'000, '?');
  std::string other(50'000, '?');
  const std::vector<std::span<std::byte>> destinations = {std::as_writable_bytes(std::span(one)),
                                                          std::as_writable_bytes(std::span(other))};
  EXPECT_TRUE(test::carry_out(plan, files, destinations));
  for (const std::size_t damaged : {95'000u, 120'000u, 149'999u}) {
    files[0].bytes[4096 + damaged] ^= 1;
    EXPECT_FALSE(test::carry_out(plan, files, destinations)) << damaged;
    files[0].bytes[4096 + damaged] ^= 1;
  }
}

TEST(ReadPlan, ShortGapsAreReadAndLongOnesSkipped) {
  const auto extents = [](std::uint64_t before, std::uint64_t gap) {
    const std::vector<WholeTensor> tensors = {tensor("a", {before}), tensor("b", {gap}), tensor("c", {10})};
    return plan_of(one_pack(tensors), {all_of(tensors[0]), all_of(tensors[2])}).packs[0].extents.size();
  };
  EXPECT_EQ(extents(10, 4096), 1u);
  EXPECT_EQ(extents(10, 4097), 2u);
  EXPECT_EQ(extents(kMiB, 32 * 1024), 1u);
  EXPECT_EQ(extents(kMiB, 32 * 1024 + 1), 2u);
  EXPECT_EQ(extents(4 * kMiB, 64 * 1024), 1u);
  EXPECT_EQ(extents(4 * kMiB, 64 * 1024 + 1), 2u);
}

// Columns: rows with gaps that are longer than a block skip blocks.
TEST(ReadPlan, BlocksThatNoRowTouchesAreNotRead) {
  const WholeTensor wide = tensor("w", {30, 10 * kPackBlockBytes});
  const auto files = one_pack({wide});
  const TensorSpec column = slice(wide, {0, 100}, {30, 50});
  EXPECT_EQ(plan_of(files, {column}).bytes_read, 30 * kPackBlockBytes);
  EXPECT_EQ(loaded(files, column, 1500), test::bytes_of_box(wide, {0, 100}, {30, 50}));
  const WholeTensor cube = tensor("w", {3, 30, 10 * kPackBlockBytes});
  const auto cube_files = one_pack({cube});
  const TensorSpec corner = slice(cube, {0, 28, 100}, {3, 2, 50});
  EXPECT_EQ(plan_of(cube_files, {corner}).bytes_read, 6 * kPackBlockBytes);
  EXPECT_EQ(loaded(cube_files, corner, 300), test::bytes_of_box(cube, {0, 28, 100}, {3, 2, 50}));
}

TEST(ReadPlan, CopiesAreTakenFromTheNearestPack) {
  const WholeTensor same = tensor("w", {1000});
  test::PackShelf shelf(4);
  for (const std::size_t pack : {0, 1, 3}) shelf.put(pack, same, {{0}, {1000}});
  const auto files = shelf.files();
  const auto pack_of = [&](std::uint32_t reader) {
    return plan_of(files, {all_of(same)}, reader).packs.at(0).pack;
  };
  EXPECT_EQ(pack_of(0), 0u);
  EXPECT_EQ(pack_of(1), 1u);
  EXPECT_EQ(pack_of(3), 3u);
  EXPECT_EQ(pack_of(2), 3u);  // has none of its own
  EXPECT_EQ(pack_of(6), 0u);
  EXPECT_EQ(pack_of(7), 1u);
}

TEST(ReadPlan, WhatIsNotThereIsRefused) {
  const WholeTensor whole = tensor("w", {8, 3}, kFloat32);
  const auto files = one_pack({whole});
  EXPECT_THAT(refusal(files, {"v", kFloat32, {8, 3}}, ErrorKind::kNotFound), HasSubstr("has no tensor 'v'"));
  EXPECT_THAT(refusal(files, {"w", kBfloat16, {8, 3}}, ErrorKind::kInvalid),
              HasSubstr("the saved tensor is F32 of shape 8,3, but the program wants BF16 of shape 8,3"));
  EXPECT_THAT(refusal(files, {"w", kFloat32, {8, 4}}, ErrorKind::kInvalid),
              HasSubstr("but the program wants F32 of shape 8,4"));
  EXPECT_THAT(refusal(files, {"w", kFloat32, {4, 3}, TensorBox{{0, 0}, {9, 3}}}, ErrorKind::kInvalid),
              HasSubstr("but the program wants F32 of shape 9,3"));
  EXPECT_THAT(refusal(files, {"w", kFloat32, {4, 3}, TensorBox{{5, 0}, {8, 3}}}, ErrorKind::kInvalid),
              HasSubstr("does not fit at 5,0 of 8,3"));
  test::PackShelf shelf(1);
  shelf.put(0, whole, {{0, 0}, {4, 3}});
  const auto half = shelf.files();
  EXPECT_THAT(refusal(half, all_of(whole), ErrorKind::kCorrupted), HasSubstr("element [4,0] of tensor 'w'"));
  EXPECT_EQ(refusal(half, slice(whole, {1, 0}, {3, 3}), ErrorKind::kInvalid), "");
}

TEST(ReadPlan, TextBytesAndNumbersOfOneByteAreOneType) {
  const auto files = one_pack({tensor("state", {100}, kText)});
  EXPECT_EQ(refusal(files, {"state", kBytes, {100}}, ErrorKind::kInvalid), "");
}

TEST(ReadPlan, DamageIsNamed) {
  const std::vector<WholeTensor> tensors = {tensor("a", {100}), tensor("b", {1000}), tensor("c", {300'000})};
  auto files = one_pack(tensors);
  std::string found(300'000, '?');
  const std::vector<std::span<std::byte>> destinations = {std::as_writable_bytes(std::span(found))};
  const auto complaint = [&](const TensorSpec& wanted) {
    const auto carried = test::carry_out(plan_of(files, {wanted}), files, destinations);
    return carried ? "" : carried.error().message();
  };
  files[0].bytes[4096 + 500] ^= 4;
  EXPECT_EQ(complaint(all_of(tensors[0])), "");
  EXPECT_EQ(complaint(all_of(tensors[1])), "bytes of tensor 'b' are not the bytes that were saved");
  EXPECT_EQ(complaint(slice(tensors[2], {150'000}, {10})), "");
  files[0].bytes[4096 + 1100 + 150'000] ^= 4;
  EXPECT_EQ(complaint(slice(tensors[2], {150'005}, {10})),
            "bytes 135168 to 167936 of the pack, block 4, are not the bytes that were saved");
}

// The bytes that all ranks read, divided by the bytes that they want, for packs of another number of ranks.
double reading(const std::vector<TensorSpec>& model, std::uint64_t writers, std::uint64_t readers) {
  const auto layouts = test::sharded_layouts(model, writers);
  const PartIndex index = test::index_of(layouts);
  std::uint64_t read = 0;
  std::uint64_t wanted = 0;
  for (std::uint32_t rank = 0; rank < readers; ++rank) {
    const ReadPlan plan = plan_reads(index, test::shard(model, rank, readers), rank).value();
    read += plan.bytes_read;
    wanted += plan.bytes_wanted;
  }
  std::uint64_t whole = 0;
  for (const auto& layout : layouts) whole += layout.data_bytes;
  EXPECT_EQ(wanted, whole);
  return static_cast<double>(read) / static_cast<double>(whole);
}

TEST(ReadPlan, AnotherWorldReadsHardlyMoreThanThereIs) {
  const auto large = test::transformer(32, 4096, 11008, 32000, kBfloat16);  // 7 billion weights
  const auto small = test::transformer(12, 768, 3072, 50257, kFloat32);     // 124 million
  for (const auto& model : {large, small}) {
    EXPECT_EQ(reading(model, 4, 4), 1.0);
    EXPECT_LE(reading(model, 4, 3), 1.05);
    EXPECT_LE(reading(model, 8, 5), 1.05);
    EXPECT_LE(reading(model, 3, 8), 1.05);
  }
}

// Processor time, so that other programs do not count; the best of several runs.
double seconds_of_plan(const std::vector<TensorSpec>& model, std::uint64_t world) {
  const auto layouts = test::sharded_layouts(model, world);
  const PartIndex index = test::index_of(layouts);
  const auto wanted = test::shard(model, 1, world);
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const double began = now();
    EXPECT_TRUE(plan_reads(index, wanted, 1));
    best = std::min(best, now() - began);
  }
  return best;
}

// If each rank examined all parts of each tensor, it would take sixteen times as long.
TEST(ReadPlan, DoesNotTakeLongerForPartsThatItDoesNotNeed) {
  const auto model = test::transformer(4, 4096, 8192, 32768, kFloat32);  // divided without a rest
  EXPECT_LT(seconds_of_plan(model, 512), 6 * seconds_of_plan(model, 32));
}

}  // namespace
}  // namespace ratoon::checkpoint::read_plan_test
