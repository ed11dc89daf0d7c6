#include "agent/src/checkpoint/tiers/stores/object_store_disk.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include <gmock/gmock.h>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/disk/watched_disk.h"
#include "agent/src/checkpoint/saver/pack_writer.h"
#include "agent/src/checkpoint/staging/copy_to_image.h"
#include "agent/src/checkpoint/tiers/stores/abandoned_uploads.h"
#include "agent/src/checkpoint/tiers/stores/mirror.h"
#include "agent/src/checkpoint/tiers/tiers.h"
#include "tests/support/crash/observed_disk.h"
#include "tests/support/pack_files.h"
#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::checkpoint::object_store_disk_test {
namespace {

namespace fs = std::filesystem;
using test::complete_in;
using test::id;
using testing::ElementsAre;
using testing::HasSubstr;

class ObjectStoreDiskTest : public testing::Test {
 protected:
  ObjectStoreDiskTest()
      : store_(test::store_at(folder_ / "store")), local_(test::folder_at(folder_ / "run")) {}
  ratoon::test::TemporaryFolder folder_;
  std::shared_ptr<ObjectStoreDisk> store_;
  std::shared_ptr<Disk> local_;
};

TEST_F(ObjectStoreDiskTest, AFileIsThereOnceItHasItsNameAndNeverTwice) {
  auto file = store_->create("a/.x.tmp").value();
  ASSERT_TRUE(file->write(3, std::as_bytes(std::span("def", 3))));
  ASSERT_TRUE(file->write(0, std::as_bytes(std::span("abc", 3))));
  EXPECT_FALSE(store_->create("a/.x.tmp")) << "as O_EXCL";
  EXPECT_TRUE(store_->list("a")->empty());
  ASSERT_TRUE(store_->rename_no_replace("a/.x.tmp", "a/x"));
  EXPECT_EQ(*read_whole_file(*store_, "a/x", 100), "abcdef");
  EXPECT_EQ(store_->list("")->front(), (DiskEntry{.name = "a", .is_folder = true}));

  const auto again = save_durably(*store_, "a/x", "other", "m");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_EQ(*read_whole_file(*store_, "a/x", 100), "abcdef");
  EXPECT_TRUE(save_durably(*store_, "a/y", "other", "m")) << "the temporary file of the refused one is gone";
  EXPECT_EQ(store_->rename_no_replace("a/.x.tmp", "a/z").error().kind(), ErrorKind::kNotFound);
}

// Only what is a folder has a list of names to sync.
TEST(ObjectStoreDiskSync, AStoreThatIsAFolderSyncsItsFolders) {
  const ratoon::test::TemporaryFolder folder;
  const auto disk = test::store_at(folder / "store");
  ASSERT_TRUE(save_durably(*disk, "pins/a", "text", "m"));
  EXPECT_TRUE(disk->sync_folder("pins"));
  EXPECT_FALSE(disk->sync_folder("pins/a")) << "it reaches the disk";
  ASSERT_TRUE(disk->remove("pins/a"));
  EXPECT_TRUE(disk->sync_folder("pins")) << "the folder went with its last object";
  EXPECT_TRUE(disk->sync_folder(""));
}

// A store whose lists come from a proxy with other content.
class BadLists final : public objects::ObjectStore {
 public:
  BadLists(std::shared_ptr<objects::ObjectStore> store, int bad) : store_(std::move(store)), bad_(bad) {}
  const std::string& uri() const override { return store_->uri(); }
  Result<objects::ObjectInfo> get(std::string_view key, objects::ObjectSink& sink,
                                  const objects::GetOptions& options) override {
    return store_->get(key, sink, options);
  }
  Result<objects::ObjectInfo> head(std::string_view key, std::stop_token stop) override {
    return store_->head(key, std::move(stop));
  }
  Result<void> put(std::string_view key, std::string_view bytes,
                   const objects::PutOptions& options) override {
    return store_->put(key, bytes, options);
  }
  Result<objects::UploadedObject> upload(std::string_view key, objects::ObjectSource& source,
                                         const objects::UploadOptions& options) override {
    return store_->upload(key, source, options);
  }
  Result<std::uint64_t> abort_stale_uploads(std::string_view prefix, Duration older_than,
                                            std::stop_token stop) override {
    return store_->abort_stale_uploads(prefix, older_than, std::move(stop));
  }
  Result<objects::ObjectPage> list(std::string_view prefix, std::string_view page,
                                   std::stop_token stop) override {
    if (bad_ == 0) return store_->list(prefix, page, std::move(stop));
    --bad_;
    return Error(ErrorKind::kCorrupted, "the XML of the reply begins with '<html>'");
  }
  Result<void> remove(std::string_view key, std::stop_token stop) override {
    return store_->remove(key, std::move(stop));
  }

 private:
  const std::shared_ptr<objects::ObjectStore> store_;
  int bad_;
};

// Exit code 83, which is final, is for damaged checkpoints.
TEST_F(ObjectStoreDiskTest, AListThatCannotBeReadIsAskedForAgainAndIsNoDamageOfWhatLiesThere) {
  test::digest_of_commit(store_, id(1, 10));
  const auto behind_proxy = [&](int bad) {
    const std::string uri = "file://" + (folder_ / "store").string();
    return ObjectStoreDisk(std::make_shared<BadLists>(*objects::open_store(uri, {}), bad));
  };
  EXPECT_THAT(complete_in(behind_proxy(1)), ElementsAre(id(1, 10)));
  const auto found = take_inventory(behind_proxy(1'000'000));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(found.error().message(), HasSubstr("<html>"));
}

// Lent bytes are in memory once: they are read when they are sent.
TEST_F(ObjectStoreDiskTest, WhatIsLentIsNotCopied) {
  const auto watched = watch_disk(store_, std::make_shared<CallTimer>(std::make_shared<SystemClock>()));
  std::string mine = "cdefgh";
  auto file = watched->create("x.tmp").value();
  EXPECT_TRUE(file->lends_without_copy());
  ASSERT_TRUE(file->reserve(std::uint64_t{1} << 50)) << "most of it may be lent";
  ASSERT_TRUE(file->write_borrowed(2, ratoon::test::bytes_of(std::string_view(mine).substr(0, 3))));
  ASSERT_TRUE(file->write_borrowed(5, ratoon::test::bytes_of(std::string_view(mine).substr(3))));
  ASSERT_TRUE(file->write(0, ratoon::test::bytes_of("ab")));
  ASSERT_TRUE(file->close());
  mine[4] = 'G';
  ASSERT_TRUE(watched->rename_no_replace("x.tmp", "x"));
  EXPECT_EQ(*read_whole_file(*store_, "x", 100), "abcdefGh");
}

// Small tensors too: bytes that change while the first bytes are sent are sent with their later values.
TEST_F(ObjectStoreDiskTest, APackIsSentFromWhereItLies) {
  std::string large(std::size_t{5} << 20, 'l');
  std::string small = "small";
  const std::vector<TensorView> views = {{.name = "a",
                                          .type = ElementType::kUint8,
                                          .shape = {large.size()},
                                          .bytes = ratoon::test::bytes_of(large)},
                                         {.name = "b",
                                          .type = ElementType::kUint8,
                                          .shape = {small.size()},
                                          .bytes = ratoon::test::bytes_of(small)}};
  const auto ends_with = [&](const std::string& path) {
    const std::string stored = *read_whole_file(*store_, path, ~0ULL);
    return stored.substr(stored.size() - 6);
  };
  store_->set_progress_callback([&] { small = "SMALL"; });
  ASSERT_TRUE(write_pack_file(*store_, "tensors", Rank(0), views, "m"));
  EXPECT_EQ(ends_with("tensors"), "lSMALL");

  const auto plan = lay_out_image(views).value();
  std::vector<std::byte> image(plan.layout.file_bytes());
  copy_to_image(plan, views, image, *CopyProgress::completed());
  store_->set_progress_callback([&] { image.back() = std::byte{'!'}; });
  ASSERT_TRUE(
      write_pack_image(*store_, "image", Rank(0), plan.layout, image, "m", *CopyProgress::completed()));
  EXPECT_EQ(ends_with("image"), "lSMAL!");
}

TEST_F(ObjectStoreDiskTest, AnObjectHasNoGapsAndNoByteTwice) {
  auto file = store_->create("x.tmp").value();
  ASSERT_TRUE(file->write(2, ratoon::test::bytes_of("cd")));
  for (const std::uint64_t at : {1ULL, 2ULL, 3ULL}) {
    const auto again = file->write(at, ratoon::test::bytes_of("zz"));
    ASSERT_FALSE(again) << at;
    EXPECT_THAT(again.error().message(), HasSubstr("written twice"));
  }
  EXPECT_THAT(store_->rename_no_replace("x.tmp", "x").error().message(), HasSubstr("has gaps"));
  ASSERT_TRUE(file->write(0, ratoon::test::bytes_of("ab")));
  ASSERT_TRUE(file->write(4, {}));
  ASSERT_TRUE(store_->rename_no_replace("x.tmp", "x"));
  EXPECT_EQ(*read_whole_file(*store_, "x", 100), "abcd");
  ASSERT_TRUE(save_durably(*store_, "nothing", "", "m"));
  EXPECT_EQ(*read_whole_file(*store_, "nothing", 100), "");
}

TEST_F(ObjectStoreDiskTest, ReadsEndWhereTheObjectDoes) {
  ASSERT_TRUE(save_durably(*store_, "x", "abcdef", "m"));
  const auto file = store_->open("x").value();
  std::string some(3, ' ');
  ASSERT_TRUE(file->read(2, std::as_writable_bytes(std::span(some))));
  EXPECT_EQ(some, "cde");
  ASSERT_TRUE(file->read(6, {}));
  for (const std::uint64_t at : {4ULL, 6ULL, ~0ULL})
    EXPECT_EQ(file->read(at, std::as_writable_bytes(std::span(some))).error().kind(), ErrorKind::kCorrupted);
  EXPECT_EQ(store_->open("y").error().kind(), ErrorKind::kNotFound);
  EXPECT_FALSE(store_->open("../x"));
}

TEST_F(ObjectStoreDiskTest, ARunLivesInAStoreAlone) {
  for (std::uint64_t step = 10; step <= 50; step += 10) test::digest_of_commit(store_, id(1, step));
  ASSERT_TRUE(test::run_in(store_).retire_old({.last = 2}, Attempt(1)));
  EXPECT_THAT(complete_in(*store_), ElementsAre(id(1, 50), id(1, 40)));
  EXPECT_TRUE(test::run_in(store_).verify(id(1, 40)));
  EXPECT_FALSE(fs::exists(folder_ / "store" / pack_path(id(1, 30), Rank(0))));
}

// A save every few seconds for days: each listing walks through the folders of a store that is a folder.
TEST_F(ObjectStoreDiskTest, AStoreThatIsAFolderHasFoldersForWhatItKeepsAlone) {
  const auto count = [&] {
    return std::ranges::count_if(fs::recursive_directory_iterator(folder_ / "store"),
                                 [](const auto& entry) { return entry.is_directory(); });
  };
  const auto save_up_to = [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t step = first; step <= last; ++step) {
      test::digest_of_commit(store_, id(1, step));
      ASSERT_TRUE(test::run_in(store_).retire_old({.last = 2}, Attempt(1)));
    }
  };
  save_up_to(1, 5);
  const auto at_first = count();
  save_up_to(6, 40);
  EXPECT_EQ(count(), at_first);
}

TEST_F(ObjectStoreDiskTest, WhatKilledWritersLeftAnywhereInAFolderGoes) {
  const auto hours_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
  for (const std::string name : {"manifests/.s0000000010.a0001.json", "claims/.c0000000012.txt",
                                 "packs/a0001/s0000000010/.r0000.safetensors", ".latest.json"}) {
    for (const auto& [ending, is_old] :
         {std::pair{".tmp-0123456789abcdef", true}, {".tmp-fedcba9876543210", false}}) {
      const fs::path path = folder_ / "store" / (name + ending);
      fs::create_directories(path.parent_path());
      ratoon::test::write_text(path, "left");
      if (is_old) fs::last_write_time(path, hours_ago);
    }
  }
  EXPECT_EQ(*abort_abandoned_uploads(store_->store(), Attempt(50), {}), 4u);
  const auto files = std::ranges::count_if(fs::recursive_directory_iterator(folder_ / "store"),
                                           [](const auto& entry) { return entry.is_regular_file(); });
  EXPECT_EQ(files, 4) << "they may be being written";
}

TEST_F(ObjectStoreDiskTest, WhatRanksMirrorRankZeroCommits) {
  // Two ranks with disks of their own: each sends its pack and its vote.
  const auto other = test::folder_at(folder_ / "other");
  const std::string digest = test::digest_of_commit(local_, id(1, 20));
  const auto manifest = read_manifest(*local_, id(1, 20))->manifest;
  EXPECT_TRUE(*mirror_pack(*local_, id(1, 20), manifest.packs[0], *store_, {}));
  EXPECT_FALSE(*mirror_pack(*local_, id(1, 20), manifest.packs[0], *store_, {})) << "it is there";
  EXPECT_EQ(*try_commit(*store_, id(1, 20), 1, "m"), std::nullopt) << "no vote yet";
  ASSERT_TRUE(
      save_without_sync(*store_, receipt_path(id(1, 20), Rank(0)), encode_receipt(manifest.packs[0]), "m"));
  EXPECT_EQ((*try_commit(*store_, id(1, 20), 1, "m"))->digest, digest)
      << "the same checkpoint as in the folder";
}

// As in a manifest that was edited.
TEST_F(ObjectStoreDiskTest, ARecordIsToldWhatItSaysWrong) {
  test::digest_of_commit(local_, id(1, 20));
  const PackRecord sound = read_manifest(*local_, id(1, 20))->manifest.packs[0];
  const auto refusal_of = [&](const PackRecord& record) {
    return mirror_pack(*local_, id(1, 20), record, *store_, {}).error().message();
  };
  PackRecord wrong = sound;
  ++wrong.size_bytes;
  EXPECT_THAT(refusal_of(wrong), testing::HasSubstr("and " + std::to_string(wrong.size_bytes) + " were"));
  wrong = sound;
  wrong.header_bytes = sound.size_bytes + 1;
  EXPECT_THAT(refusal_of(wrong),
              testing::HasSubstr("has " + std::to_string(wrong.header_bytes) + " bytes, and at most " +
                                 std::to_string(sound.size_bytes) + " are possible"));
}

TEST_F(ObjectStoreDiskTest, TiersLoadFromTheFirstSoundCopy) {
  const std::string digest = test::digest_of_commit(local_, id(1, 20), 100'000);
  ASSERT_TRUE(mirror_checkpoint(*local_, id(1, 20), *store_, {}));
  const Tiers tiers(
      {{.kind_name = "local", .disk = local_}, {.kind_name = "store", .disk = store_, .store = store_}});
  const TieredCheckpoint both{.id = id(1, 20), .digest = digest, .tiers = {0, 1}};
  EXPECT_EQ(tiers.inventory()->complete, std::vector{both});
  EXPECT_EQ(tiers.load(both, Rank(0))->tier, 0u);
  fs::resize_file(folder_ / "run" / pack_path(id(1, 20), Rank(0)), 90'000);
  const auto loaded = tiers.load(both, Rank(0));
  EXPECT_EQ(loaded->tier, 1u);
  EXPECT_EQ(loaded->damaged_copies.front().second.kind(), ErrorKind::kCorrupted);
  fs::remove(folder_ / "store" / pack_path(id(1, 20), Rank(0)));
  EXPECT_THAT(tiers.load(both, Rank(0)).error().message(), HasSubstr("a manifest names it"));
  EXPECT_FALSE(Tiers::open({})) << "a run needs a place";
}

TEST_F(ObjectStoreDiskTest, FoldersOfStoresAreSeenThroughTheSameAsTheRunsOwn) {
  std::vector<std::string> seen;
  TierLocations places{.folder = folder_ / "run", .stores = {"file://" + (folder_ / "store").string()}};
  places.folder_wrapper = [&](const std::shared_ptr<Disk>& disk) {
    seen.push_back(disk->shown(""));
    return local_;
  };
  const auto tiers = Tiers::open(places);
  ASSERT_TRUE(tiers);
  EXPECT_THAT(seen, ElementsAre((folder_ / "run").string(), store_->shown("")));
  for (const Tier& tier : tiers->all()) EXPECT_EQ(tier.disk, local_) << tier.kind_name;
  EXPECT_TRUE(tiers->all()[1].store);
}

TEST_F(ObjectStoreDiskTest, OnceAStoreHoldsItNoLocalCopyIsKept) {
  const auto clean_up = [&](const std::set<CheckpointId>& in_store) {
    return test::run_in(local_).retire_old({.last = 0}, Attempt(1), {.in_store = in_store});
  };
  for (std::uint64_t step = 10; step <= 30; step += 10) {
    test::digest_of_commit(local_, id(1, step));
    ASSERT_TRUE(mirror_checkpoint(*local_, id(1, step), *store_, {}));
  }
  test::digest_of_commit(local_, id(1, 40));
  ASSERT_TRUE(clean_up({id(1, 10), id(1, 20), id(1, 30)}));
  EXPECT_THAT(complete_in(*local_), ElementsAre(id(1, 40))) << "no store holds it yet";
  ASSERT_TRUE(mirror_checkpoint(*local_, id(1, 40), *store_, {}));
  ASSERT_TRUE(clean_up({id(1, 20), id(1, 30), id(1, 40)}));
  EXPECT_TRUE(complete_in(*local_).empty());
  EXPECT_FALSE(fs::exists(folder_ / "run" / pack_path(id(1, 40), Rank(0))));
  EXPECT_TRUE(test::run_in(store_).verify(id(1, 40)));
  const Tiers tiers(
      {{.kind_name = "volume", .disk = local_}, {.kind_name = "store", .disk = store_, .store = store_}});
  EXPECT_EQ(tiers.inventory()->complete.front().id, id(1, 40));
}

// The copying thread removes the newest checkpoint once a store holds it, while the saving thread reads it
// back.
TEST_F(ObjectStoreDiskTest, WhatIsRetiredWhileItIsReadBackIsNotBad) {
  for (const std::uint64_t step : {10u, 20u}) test::digest_of_commit(local_, id(1, step));
  bool has_gone = false;
  const auto read_back = std::make_shared<ratoon::test::ObservedDisk>(
      local_, [&](ratoon::test::DiskCall call, const std::string& path, ratoon::test::Moment moment) {
        const bool is_pack =
            call == ratoon::test::DiskCall::kOpen && path.starts_with(packs_folder(id(1, 20)));
        if (!is_pack || moment != ratoon::test::Moment::kBefore || std::exchange(has_gone, true)) return;
        EXPECT_TRUE(test::run_in(local_).retire_old({.last = 0}, Attempt(1), {.in_store = {id(1, 20)}}));
      });
  const auto retired = test::run_in(read_back).retire_old({.last = 1}, Attempt(1));
  EXPECT_TRUE(has_gone);
  EXPECT_TRUE(retired) << retired.error().message();
  EXPECT_FALSE(fs::exists(folder_ / "run" / pack_path(id(1, 20), Rank(0))));
  EXPECT_TRUE(quarantined_or_aside_checkpoints(*local_)->empty());
}

TEST_F(ObjectStoreDiskTest, NothingOlderGoesFromAStoreWhoseNewestIsNotSound) {
  for (std::uint64_t step = 10; step <= 20; step += 10) test::digest_of_commit(store_, id(1, step));
  fs::resize_file(folder_ / "store" / pack_path(id(1, 20), Rank(0)), 100);
  EXPECT_FALSE(test::run_in(store_).retire_old({.last = 1}, Attempt(1), {}, ReadBackScope::kHeaders));
  EXPECT_THAT(complete_in(*store_), ElementsAre(id(1, 10))) << "the bad one is set aside";
}

}  // namespace
}  // namespace ratoon::checkpoint::object_store_disk_test
