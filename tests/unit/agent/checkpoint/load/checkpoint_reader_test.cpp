#include "agent/src/checkpoint/load/checkpoint_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/pack/boxes.h"
#include "tests/support/model_shapes.h"
#include "tests/support/packs_disk.h"
#include "tests/support/sharded_checkpoint.h"

namespace ratoon::checkpoint::checkpoint_reader_test {
namespace {

using test::Box;
using test::PacksDisk;
using test::WholeTensor;
using testing::AllOf;
using testing::HasSubstr;

WholeTensor floats(const std::string& name, const TensorShape& shape) {
  WholeTensor tensor{.name = name, .shape = shape, .bytes = {}};
  std::uint64_t bytes = size_of(tensor.type);
  for (const auto size : shape) bytes *= size;
  tensor.bytes = test::any_bytes(bytes, name.size() + shape.size());
  return tensor;
}

// Rows of each tensor divided over ranks, with the same bytes for any division.
std::shared_ptr<PacksDisk> saved_by(std::uint64_t ranks, const std::vector<WholeTensor>& tensors) {
  test::PackShelf shelf(ranks);
  for (const auto& tensor : tensors) {
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      const auto part = test::rows_of({tensor.name, tensor.type, tensor.shape}, rank, ranks);
      shelf.put(rank, tensor, {part.box->begin, part.shape});
    }
  }
  return std::make_shared<PacksDisk>(shelf.files());
}

struct Loaded {
  std::vector<std::string> bytes;
  CheckpointReader::LoadedBytes amount;
};

Result<Loaded> load(const std::shared_ptr<PacksDisk>& disk, std::uint32_t rank,
                    const std::vector<TensorSpec>& wanted, const ReadOptions& options = {.threads = 3}) {
  auto reader = CheckpointReader::open(disk, disk->names(), Rank(rank), options);
  if (!reader) return reader.error();
  Loaded loaded;
  for (const auto& spec : wanted) loaded.bytes.emplace_back(count_bytes(spec.type, spec.shape).value(), '?');
  std::vector<std::span<std::byte>> places;
  for (auto& bytes : loaded.bytes) places.push_back(std::as_writable_bytes(std::span(bytes)));
  const auto amount = reader->load(wanted, places);
  if (!amount) return amount.error();
  loaded.amount = *amount;
  return loaded;
}

TEST(CheckpointReader, AnotherNumberOfRanksReadsTheSameBytesAndHardlyMore) {
  const std::vector<WholeTensor> model = {floats("embedding", {1000, 96}), floats("up", {768, 512}),
                                          floats("down", {512, 769}), floats("norm", {4097})};
  for (const auto& [writers, readers] : {std::pair{4, 3}, {8, 5}, {1, 3}, {5, 1}, {2, 7}}) {
    const auto disk = saved_by(static_cast<std::uint64_t>(writers), model);
    for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(readers); ++rank) {
      std::vector<TensorSpec> wanted;
      std::vector<std::string> expected;
      for (const auto& tensor : model) {
        wanted.push_back(test::rows_of({tensor.name, tensor.type, tensor.shape}, rank,
                                       static_cast<std::uint64_t>(readers)));
        expected.push_back(test::bytes_of_box(tensor, wanted.back().box->begin, wanted.back().shape));
      }
      const auto loaded = load(disk, rank, wanted, {.threads = 3, .bytes_at_once = 100'000});
      ASSERT_TRUE(loaded) << loaded.error().message();
      EXPECT_EQ(loaded->bytes, expected) << writers << " -> " << readers << ", rank " << rank;
    }
  }
}

// Layouts of a real model are in bench_pack; this test really reads the bytes.
TEST(CheckpointReader, ReadsAtMostAFewPercentMoreThanIsWanted) {
  const std::vector<WholeTensor> model = {floats("a", {4096, 1024}), floats("b", {1024, 4096})};
  for (const auto& [writers, readers] : {std::pair{4, 3}, {8, 5}}) {
    const auto disk = saved_by(static_cast<std::uint64_t>(writers), model);
    std::uint64_t wanted_bytes = 0;
    for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(readers); ++rank) {
      std::vector<TensorSpec> wanted;
      for (const auto& tensor : model)
        wanted.push_back(test::rows_of({tensor.name, tensor.type, tensor.shape}, rank,
                                       static_cast<std::uint64_t>(readers)));
      const auto loaded = load(disk, rank, wanted);
      ASSERT_TRUE(loaded);
      wanted_bytes += loaded->amount.bytes_wanted;
    }
    EXPECT_EQ(wanted_bytes, model[0].bytes.size() + model[1].bytes.size());
    EXPECT_LE(static_cast<double>(disk->data_bytes_read()), 1.05 * static_cast<double>(wanted_bytes));
  }
}

TEST(CheckpointReader, OneTensorAloneReadsNothingElse) {
  const std::vector<WholeTensor> model = {floats("large", {2048, 1024}), floats("small", {10}),
                                          floats("middle", {300, 300})};
  test::PackShelf shelf(2);
  for (const auto& tensor : model) {
    for (const std::size_t pack : {0U, 1U})
      shelf.put(pack, tensor, {TensorShape(tensor.shape.size()), tensor.shape});
  }
  const auto disk = std::make_shared<PacksDisk>(shelf.files());
  const auto loaded = load(disk, 1, {{"small", ElementType::kFloat32, {10}}});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->bytes.front(), model[1].bytes);
  EXPECT_EQ(loaded->amount.bytes_read, 40u);
  EXPECT_EQ(disk->data_bytes_read(), 40u);
  for (const auto& read : disk->reads()) EXPECT_EQ(read.path, "r1") << "its own pack is enough";

  const TensorSpec slice{"large", ElementType::kFloat32, {4, 1024}, TensorBox{{100, 0}, {2048, 1024}}};
  const auto rows = load(disk, 0, {slice});
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->bytes.front(), test::bytes_of_box(model[0], {100, 0}, {4, 1024}));
  EXPECT_LE(rows->amount.bytes_read, 4 * 4096 + 2 * kPackBlockBytes);
}

// The data of random numbers: the same name, other bytes on each rank.
TEST(CheckpointReader, WhatHasNoBoxBelongsToItsRank) {
  const WholeTensor shared = floats("shared", {9, 7});
  std::vector<std::string> own = {"rank zero's", "rank one's ", "rank two's "};
  std::vector<std::string> parts;
  std::vector<test::PackFile> packs;
  for (std::uint64_t rank = 0; rank < 3; ++rank)
    parts.push_back(test::bytes_of_box(shared, {rank * 3, 0}, {3, 7}));
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    const std::vector<TensorView> views = {
        {.name = "random", .shape = {11}, .bytes = test::bytes_of(own[rank])},
        {.name = "shared",
         .type = ElementType::kFloat32,
         .shape = {3, 7},
         .bytes = test::bytes_of(parts[rank]),
         .box = TensorBox{{rank * 3, 0}, {9, 7}}}};
    packs.push_back(test::make_pack("r" + std::to_string(rank), views));
  }
  const auto disk = std::make_shared<PacksDisk>(packs);
  for (std::uint32_t rank = 0; rank < 7; ++rank) {
    const auto loaded =
        load(disk, rank, {{"random", ElementType::kUint8, {11}}, {"shared", ElementType::kFloat32, {9, 7}}});
    ASSERT_TRUE(loaded) << loaded.error().message();
    EXPECT_EQ(loaded->bytes[0], own[rank % 3]);
    EXPECT_EQ(loaded->bytes[1], shared.bytes);
  }
  auto reader = CheckpointReader::open(disk, disk->names(), Rank(4)).value();
  EXPECT_EQ(reader.find("shared").value()->shape, TensorShape({9, 7}));
  EXPECT_EQ(reader.find("random").value()->type, ElementType::kUint8);
  EXPECT_EQ(reader.find("nothing").value(), std::nullopt);
}

TEST(CheckpointReader, WhatIsNotThereOrOfAnotherFormIsSaidBeforeAnythingIsRead) {
  const auto disk = saved_by(2, {floats("w", {8, 16})});
  const auto message = [&](const TensorSpec& wanted) {
    const auto loaded = load(disk, 0, {{"w", ElementType::kFloat32, {8, 16}}, wanted});
    return loaded ? std::string("loaded") : loaded.error().message();
  };
  EXPECT_THAT(message({"v", ElementType::kFloat32, {8}}), HasSubstr("has no tensor 'v'"));
  EXPECT_THAT(message({"w", ElementType::kFloat32, {8, 17}}),
              AllOf(HasSubstr("F32 of shape 8,16"), HasSubstr("F32 of shape 8,17")));
  EXPECT_THAT(message({"w", ElementType::kInt32, {8, 16}}),
              HasSubstr("but the program wants I32 of shape 8,16"));
  EXPECT_EQ(disk->data_bytes_read(), 0u);
}

TEST(CheckpointReader, AMissingPartIsSaidByName) {
  const WholeTensor tensor = floats("expert.weight", {8, 4});
  test::PackShelf shelf(2);
  shelf.put(0, tensor, {{0, 0}, {3, 4}});
  shelf.put(1, tensor, {{5, 0}, {3, 4}});
  const auto disk = std::make_shared<PacksDisk>(shelf.files());
  const auto loaded = load(disk, 0, {{"expert.weight", ElementType::kFloat32, {8, 4}}});
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message(), AllOf(HasSubstr("element [3,0]"), HasSubstr("'expert.weight'")));
  EXPECT_EQ(disk->data_bytes_read(), 0u);
}

TEST(CheckpointReader, WhatSeveralWantIsReadByWayOfThePageCache) {
  EXPECT_EQ(choose_read_mode(100, 100, 1), ReadMode::kDirect);
  EXPECT_EQ(choose_read_mode(25, 100, 4), ReadMode::kDirect) << "each its own";
  EXPECT_EQ(choose_read_mode(26, 100, 4), ReadMode::kDirect) << "parts are not quite equal";
  EXPECT_EQ(choose_read_mode(100, 100, 4), ReadMode::kByPageCache) << "all want all";
  EXPECT_EQ(choose_read_mode(1ULL << 62, 1ULL << 62, 64), ReadMode::kByPageCache);
}

TEST(CheckpointReader, AnyDamageOfWhatIsReadIsNoticedAndAFlipOnTheWayIsNot) {
  const WholeTensor tensor = floats("w", {600, 512});
  const auto disk = saved_by(3, {tensor, floats("z", {30})});
  const std::vector<TensorSpec> wanted = {{"w", ElementType::kFloat32, {600, 512}}};
  disk->turn_bits(1);
  const auto loaded = load(disk, 0, wanted);
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->bytes.front(), tensor.bytes);
  EXPECT_EQ(disk->times_forgotten(), 1) << "read again from the disk";
  for (std::size_t pack = 0; pack < 3; ++pack) {
    auto& file = disk->packs()[pack];
    const auto& place = file.header.layout.tensors.front();
    ASSERT_EQ(place.name, "w");
    for (std::uint64_t i = 0; i < 40; ++i) {
      const std::uint64_t at = place.begin + i * (place.end - place.begin - 1) / 39;
      char& byte = file.bytes[file.header.layout.header_bytes + at];
      byte = static_cast<char>(byte ^ (1 << (i % 8)));
      const auto damaged = load(disk, static_cast<std::uint32_t>(pack), wanted);
      ASSERT_FALSE(damaged) << pack << " " << at;
      EXPECT_EQ(damaged.error().kind(), ErrorKind::kCorrupted);
      EXPECT_THAT(damaged.error().message(), HasSubstr("run/r" + std::to_string(pack)));
      byte = static_cast<char>(byte ^ (1 << (i % 8)));
    }
  }
}

// Rows of a long tensor are compared by their blocks, each of which counts, for any end of a piece.
TEST(CheckpointReader, DamageOfAnyBlockOfASliceIsNoticed) {
  const auto disk = saved_by(1, {floats("w", {3000, 512})});
  const std::vector<TensorSpec> wanted = {
      {"w", ElementType::kFloat32, {500, 512}, TensorBox{{1000, 0}, {3000, 512}}}};
  auto& file = disk->packs().front();
  const std::uint64_t begin = file.header.layout.header_bytes + 1000 * 2048;
  for (std::uint64_t at = 0; at < 500 * 2048; at += kPackBlockBytes) {
    char& byte = file.bytes[begin + at];
    byte = static_cast<char>(byte ^ 1);
    const auto damaged = load(disk, 0, wanted, {.threads = 2, .bytes_at_once = 100'000});
    ASSERT_FALSE(damaged) << at;
    EXPECT_EQ(damaged.error().kind(), ErrorKind::kCorrupted);
    byte = static_cast<char>(byte ^ 1);
  }
  EXPECT_TRUE(load(disk, 0, wanted));
}

TEST(CheckpointReader, APackThatIsGoneOrOfAnotherHeaderIsNoticed) {
  const auto disk = saved_by(2, {floats("w", {64, 8})});
  auto names = disk->names();
  names[1].record.header_digest = names[0].record.header_digest;
  auto reader = CheckpointReader::open(disk, names, Rank(0)).value();
  EXPECT_EQ(reader.find("w").error().kind(), ErrorKind::kCorrupted);
  names[1].path = "r9";
  EXPECT_FALSE(CheckpointReader::open(disk, names, Rank(1)));
}

}  // namespace
}  // namespace ratoon::checkpoint::checkpoint_reader_test
