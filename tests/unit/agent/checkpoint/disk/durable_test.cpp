// The state after saving a file with several faults: temporary files, and names that are not on the disk yet.
#include "agent/src/checkpoint/disk/durable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/commit/commit.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/retention/pins.h"
#include "agent/src/checkpoint/tiers/lineage.h"
#include "tests/support/crash/crash_checker.h"
#include "tests/support/crash/run_life.h"

namespace ratoon::checkpoint::durable_test {
namespace {

using test::DiskCall;
using test::Fault;
using test::ModelDisk;
using testing::HasSubstr;

constexpr CheckpointId kId{.attempt = Attempt(1), .step = Step(10)};

// First the sync of such a file fails, then its removal as well: the disk has become read-only for a moment.
void refuse_once(ModelDisk& disk, const std::string& folder) {
  auto syncs = std::make_shared<int>(1);
  auto removals = std::make_shared<int>(1);
  disk.set_faults([=](DiskCall call, const std::string& path) -> Fault {
    if (!path.starts_with(folder)) return {};
    const bool is_refused =
        (call == DiskCall::kSync && (*syncs)-- > 0) || (call == DiskCall::kRemove && (*removals)-- > 0);
    return is_refused ? Fault{.error = Error(ErrorKind::kIo, "the disk refuses")} : Fault{};
  });
}

void write_both(Disk& disk) {
  for (const std::uint32_t rank : {0U, 1U}) {
    const auto states = test::states_of(kId, rank);
    const auto views = test::views_of(states);
    ASSERT_TRUE(write_pack(disk, kId, Rank(rank), views, "mark"));
  }
}

TEST(Leftovers, OfOnesOwnDoNotTakeTheName) {
  ModelDisk disk;
  refuse_once(disk, "");
  const auto first = save_durably(disk, "file", "text", "mark");
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().kind(), ErrorKind::kIo);
  ASSERT_EQ(disk.all_paths().size(), 1u) << "it could not be removed";
  const auto second = save_durably(disk, "file", "words", "mark");
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(*disk.bytes_of("file"), "words");
  EXPECT_EQ(disk.all_paths(), std::vector<std::string>({"file"}));
}

TEST(Leftovers, OfWhatNeedNotLastDoNotTakeTheNameEither) {
  ModelDisk disk;
  ASSERT_TRUE(disk.create(temporary_path("file", "mark")));
  ASSERT_TRUE(save_without_sync(disk, "file", "words", "mark"));
  EXPECT_EQ(disk.all_paths(), std::vector<std::string>({"file"}));
}

TEST(Leftovers, ThatStayAreNoSignThatTheNameIsTaken) {
  ModelDisk disk;
  ASSERT_TRUE(disk.create(temporary_path("file", "mark")));
  disk.set_faults([](DiskCall call, const std::string&) {
    return call == DiskCall::kRemove ? Fault{.error = Error(ErrorKind::kPermissionDenied, "read-only")}
                                     : Fault{};
  });
  const auto saved = save_durably(disk, "file", "words", "mark");
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().kind(), ErrorKind::kPermissionDenied);
  EXPECT_THAT(saved.error().message(), HasSubstr(temporary_path("file", "mark")));
}

TEST(Leftovers, OfAManifestDoNotEndItsCommit) {
  const auto disk = std::make_shared<ModelDisk>();
  const auto store = RunStore::open(disk, "mark");
  write_both(*disk);
  refuse_once(*disk, "manifests/");
  EXPECT_FALSE(store->try_commit(kId, 2));
  const auto again = store->try_commit(kId, 2);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE(*again) << "nothing of that name is committed";
}

TEST(Leftovers, OfAPinDoNotPin) {
  ModelDisk disk;
  refuse_once(disk, "pins/");
  EXPECT_FALSE(pin(disk, kId, "why", "mark"));
  const auto again = pin(disk, kId, "why", "mark");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE(*again) << "it is new";
  EXPECT_TRUE(*is_pinned(disk, kId));
}

TEST(Leftovers, OfAPackDoNotMissTheNextTry) {
  ModelDisk disk;
  refuse_once(disk, "packs/");
  const auto states = test::states_of(kId, 0);
  const auto views = test::views_of(states);
  EXPECT_FALSE(write_pack(disk, kId, Rank(0), views, "mark"));
  const auto again = write_pack(disk, kId, Rank(0), views, "mark");
  EXPECT_TRUE(again) << again.error().message();
}

// A start that begins anew was killed when the copy of a manifest had its name, and before the name was on
// the disk; the next start finds the copy, goes on, and the power fails.
TEST(MovingAManifest, AfterAKillAndAPowerCutLeavesOneOfItsNames) {
  test::Life life{.disk = std::make_shared<ModelDisk>()};
  ASSERT_TRUE(life.save(kId));
  const auto before = life.disk->image();
  const auto disk = std::make_shared<ModelDisk>(before);
  auto is_dead = std::make_shared<bool>(false);
  disk->set_faults([=](DiskCall call, const std::string& path) -> Fault {
    const bool dies = !*is_dead && call == DiskCall::kSyncFolder && path == kAsideFolder;
    if (!dies) return {};
    *is_dead = true;
    return {.error = Error(ErrorKind::kIo, "killed")};
  });
  ASSERT_FALSE(set_lineage_aside(*disk, "mark"));
  ASSERT_TRUE(*is_dead);
  ASSERT_TRUE(set_lineage_aside(*disk, "next"));
  const auto judge = [&](const test::CrashState& state) -> std::optional<std::string> {
    const ModelDisk left(state.image);
    for (const char* folder : {kManifests, kAsideFolder}) {
      const auto text = read_whole_file(left, manifest_path(kId, folder), kManifestBytesMax);
      if (text && decode_manifest(*text)) return std::nullopt;
    }
    return "the manifest is in neither folder";
  };
  const auto report =
      test::check_crashes({.before = before, .ops = disk->log(), .chances_a_cut = 200}, judge);
  EXPECT_EQ(report.bad, 0u) << report.first_bad;
}

}  // namespace
}  // namespace ratoon::checkpoint::durable_test
