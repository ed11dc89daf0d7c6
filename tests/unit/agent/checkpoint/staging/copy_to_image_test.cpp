// A pack through a slot equals the pack that is written directly from the tensors, to the last byte.
#include "agent/src/checkpoint/staging/copy_to_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/commit/commit.h"
#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/pack/header/pack_checksums.h"
#include "agent/src/checkpoint/staging/slab.h"
#include "tests/support/crash/model_disk.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::checkpoint::copy_to_image_test {
namespace {

const CheckpointId kId{.attempt = Attempt(1), .step = Step(10)};

class CopyTest : public testing::Test {
 protected:
  // Odd lengths, empty ones, one of many blocks, one longer than a piece that is written at once.
  CopyTest() {
    std::uint64_t mark = 1;
    for (const std::size_t bytes : {0UL, 1UL, 7UL, 32768UL, 100'001UL, 0UL, 5'000'003UL, 12UL}) {
      buffers_.emplace_back(bytes);
      for (std::byte& byte : buffers_.back()) {
        mark = mark * 6364136223846793005 + 1442695040888963407;
        byte = static_cast<std::byte>(mark >> 56);
      }
    }
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      views_.push_back({.name = "t" + std::to_string(i),
                        .type = i == 3 ? ElementType::kFloat32 : ElementType::kUint8,
                        .shape = {i == 3 ? buffers_[i].size() / 4 : buffers_[i].size()},
                        .bytes = buffers_[i]});
  }
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<TensorView> views_;
};

TEST_F(CopyTest, MakesTheSameFile) {
  test::ModelDisk straight;
  ASSERT_TRUE(write_pack(straight, kId, Rank(0), views_, "mark"));

  const auto plan = lay_out_image(views_);
  ASSERT_TRUE(plan);
  std::vector<std::byte> image(plan->layout.file_bytes());
  copy_to_image(*plan, views_, image, *CopyProgress::completed());
  const auto layout = read_layout(image, image.size());
  ASSERT_TRUE(layout) << layout.error().message();
  EXPECT_EQ(*layout, plan->layout);
  test::ModelDisk staged;
  ASSERT_TRUE(write_staged_pack(staged, kId, Rank(0), *layout, image, "mark", EarlierWriteTry::kNever,
                                *CopyProgress::completed()));

  EXPECT_EQ(staged.all_paths(), straight.all_paths());
  for (const std::string& path : straight.all_paths())
    EXPECT_EQ(*staged.bytes_of(path), *straight.bytes_of(path)) << path;
}

TEST_F(CopyTest, SumsAreTheSameWhateverThePieces) {
  const auto plan = lay_out_image(views_);
  std::vector<std::byte> image(plan->layout.file_bytes());
  copy_to_image(*plan, views_, image, *CopyProgress::completed());
  const auto data = std::span(image).subspan(plan->layout.header_bytes);
  PackChecksums whole(plan->layout);
  whole.add(data);
  PackChecksums pieces(plan->layout);
  for (std::size_t at = 0, length = 1; at < data.size(); at += length, length = length * 3 % 70'001 + 1)
    pieces.add(data.subspan(at, std::min(length, data.size() - at)));
  EXPECT_EQ(pieces.block_crcs(), whole.block_crcs());
  EXPECT_EQ(pieces.hashes(), whole.hashes());
  ASSERT_EQ(whole.hashes().size(), views_.size()) << "the empty ones too";
  for (std::size_t i = 0; i < views_.size(); ++i)
    EXPECT_EQ(whole.hashes()[i], xxh3_128(views_[plan->order[i]].bytes));
  const std::byte one_more[1]{};
  EXPECT_THROW(whole.add(one_more), std::invalid_argument);
}

TEST_F(CopyTest, SeesWhatIsChangedWhileItIsCopied) {
  const auto plan = lay_out_image(views_);
  std::vector<std::byte> image(plan->layout.file_bytes());
  copy_to_image(*plan, views_, image, *CopyProgress::completed());
  EXPECT_EQ(find_changed(*plan, views_, image), std::nullopt);
  buffers_[6].back() ^= std::byte{1};
  EXPECT_EQ(find_changed(*plan, views_, image), "t6");
  buffers_[6].back() ^= std::byte{1};
  buffers_[2][3] ^= std::byte{1};
  EXPECT_EQ(find_changed(*plan, views_, image), "t2") << "of a small one every byte is looked at";
}

TEST_F(CopyTest, RefusesBytesThatDoNotFitTypeAndShape) {
  views_[4].shape = {100'002};
  const auto plan = lay_out_image(views_);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message(),
              testing::HasSubstr("tensor 't4' has 100001 bytes, and 100002 are expected"));
}

TEST_F(CopyTest, AnImageThatWasNeverWholeHasNoLayout) {
  std::vector<std::byte> image(8192);
  EXPECT_FALSE(read_layout(image, 8192));
  EXPECT_FALSE(read_layout(image, 8193)) << "longer than the slot";
  EXPECT_FALSE(read_layout(image, 4));
}

// The remains of an earlier try, at each of the places where it may have ended.
TEST_F(CopyTest, ASecondTryTakesOrReplacesWhatTheFirstLeft) {
  const auto plan = lay_out_image(views_);
  std::vector<std::byte> image(plan->layout.file_bytes());
  copy_to_image(*plan, views_, image, *CopyProgress::completed());
  const auto write = [&](test::ModelDisk& disk, EarlierWriteTry tried) {
    return write_staged_pack(disk, kId, Rank(0), plan->layout, image, "mark", tried,
                             *CopyProgress::completed());
  };
  std::uint64_t calls = 0;
  test::ModelDisk whole;
  whole.set_faults([&](test::DiskCall, const std::string&) {
    ++calls;
    return test::Fault{};
  });
  ASSERT_TRUE(write(whole, EarlierWriteTry::kNever));
  for (std::uint64_t bad = 1; bad <= calls; ++bad) {
    for (const bool is_done_all_the_same : {false, true}) {
      test::ModelDisk disk;
      ASSERT_TRUE(make_folders(disk, kManifests, Durability::kSurvivesPowerCuts));
      std::uint64_t call = 0;
      disk.set_faults([&](test::DiskCall, const std::string&) {
        if (++call != bad) return test::Fault{};
        return test::Fault{.error = Error(ErrorKind::kIo, "refused"),
                           .does_it_all_the_same = is_done_all_the_same};
      });
      const auto first = write(disk, EarlierWriteTry::kNever);
      const auto second = first ? first : write(disk, EarlierWriteTry::kBefore);
      ASSERT_TRUE(second) << "call " << bad << ": " << second.error().message();
      const auto committed = try_commit(disk, kId, 1, "mark");
      ASSERT_TRUE(committed && *committed) << "call " << bad;
      EXPECT_EQ(*disk.bytes_of(pack_path(kId, Rank(0))), *whole.bytes_of(pack_path(kId, Rank(0))));
    }
  }
}

TEST(SlabTest, OfAProcessIsGoneWithIt) {
  Slab slab;
  EXPECT_TRUE(slab.image().empty());
  ASSERT_TRUE(slab.grow(3'000'000));
  EXPECT_GE(slab.image().size(), 3'000'000u);
  slab.image().back() = std::byte{7};
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slab.image().data()) % 4096, 0u);
  slab.write_info({.state = SlotState::kStaged, .generation = 1, .pack = {}});
  EXPECT_EQ(slab.read_info(), std::nullopt);
  slab.discard();
  EXPECT_TRUE(slab.image().empty());
}

TEST(SlabTest, InAFileIsThereForTheNext) {
  test::TemporaryFolder folder;
  const SlotInfo info{.state = SlotState::kStaged, .generation = 5, .pack = {.image_bytes = 100}};
  {
    auto slab = Slab::open(folder / "a.slot");
    ASSERT_TRUE(slab);
    EXPECT_EQ(slab->read_info(), std::nullopt);
    ASSERT_TRUE(slab->grow(100));
    slab->image()[99] = std::byte{42};
    slab->write_info(info);
    const auto second = Slab::open(folder / "a.slot");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind(), ErrorKind::kConflict) << "two would write into it";
  }
  auto slab = Slab::open(folder / "a.slot");
  ASSERT_TRUE(slab);
  EXPECT_EQ(slab->read_info(), info);
  EXPECT_EQ(slab->image()[99], std::byte{42});
  ASSERT_TRUE(slab->grow(10'000'000));
  EXPECT_EQ(slab->read_info(), std::nullopt) << "what grows is emptied first";
  slab->discard();
  EXPECT_FALSE(std::filesystem::exists(folder / "a.slot"));
}

TEST(SlabTest, LinksAndFoldersAreRefused) {
  test::TemporaryFolder folder;
  test::write_text(folder / "elsewhere", "somebody's");
  std::filesystem::create_symlink(folder / "elsewhere", folder / "link.slot");
  EXPECT_FALSE(Slab::open(folder / "link.slot"));
  std::filesystem::create_hard_link(folder / "elsewhere", folder / "hard.slot");
  EXPECT_FALSE(Slab::open(folder / "hard.slot"));
  EXPECT_FALSE(Slab::open(folder / "no" / "such" / "a.slot"));
  EXPECT_EQ(test::read_text(folder / "elsewhere"), "somebody's");
}

}  // namespace
}  // namespace ratoon::checkpoint::copy_to_image_test
