// Foreign files in a run's folder: links that lead out of it, pipes, files and folders in places of Ratoon's,
// checkpoints of a later Ratoon.
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/retention/pins.h"
#include "agent/src/checkpoint/retention/removal.h"
#include "agent/src/checkpoint/tiers/lineage.h"
#include "base/core/crc32c.h"
#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::checkpoint::strange_folder_test {
namespace {

namespace fs = std::filesystem;
using ratoon::test::read_text;
using ratoon::test::write_text;
using test::id;
using testing::HasSubstr;

using Tree = std::map<std::string, std::string>;

Tree tree_below(const fs::path& folder) {
  Tree tree;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    std::string& what = tree[entry.path().lexically_relative(folder).string()];
    if (entry.is_symlink())
      what = "link to " + fs::read_symlink(entry.path()).string();
    else
      what = entry.is_directory() ? "folder" : read_text(entry.path());
  }
  return tree;
}

std::string resealed(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  text.resize(text.find("crc32c:"));
  std::array<char, 24> line{};
  std::snprintf(line.data(), line.size(), "crc32c:%08x\n", crc32c(std::as_bytes(std::span(text))));
  return text + line.data();
}

class StrangeFolderTest : public testing::Test {
 protected:
  StrangeFolderTest() {
    const auto disk = test::folder_at(run_);
    for (const std::uint64_t step : {10, 20, 30}) point_ = commit(disk, id(1, step));
    EXPECT_TRUE(quarantine_checkpoint(*disk, id(1, 10), "a test", "mark"));
    EXPECT_TRUE(pin(*disk, id(1, 20), "a test", "mark"));
    fs::create_directories(outside_);
  }

  static ResumePoint commit(const std::shared_ptr<Disk>& disk, const CheckpointId& which) {
    return {.attempt = which.attempt, .step = which.step, .digest = test::digest_of_commit(disk, which)};
  }

  // All operations of a run, or of a cleanup command, on a folder. The refusals among them are not checked
  // here.
  std::vector<std::string> do_all() const {
    std::vector<std::string> refusals;
    const auto note = [&](const auto& done) {
      if (!done) refusals.push_back(done.error().message());
    };
    const auto disk = *RealDisk::open_existing_folder(run_);
    note(take_inventory(*disk));
    const auto run = RunStore::open(run_);
    note(run);
    if (!run) return refusals;
    note(run->load(point_, Rank(0)));
    note(run->verify(id(1, 30)));
    const std::string bytes = "abc";
    const TensorView view{.name = "w", .shape = {3}, .bytes = std::as_bytes(std::span(bytes))};
    for (const CheckpointId& which : {id(1, 30), id(1, 40), id(2, 50)}) {
      note(run->write_pack(which, Rank(0), std::span(&view, 1)));
      note(run->try_commit(which, 1));
    }
    note(run->retire_old({.last = 1}, Attempt(2)));
    note(read_pins(*disk));
    note(sweep_uncommitted(*disk, {.attempt = Attempt(9), .step = Step(0)}));
    note(run->quarantine_checkpoint(id(1, 30), "a test"));
    for (const std::uint64_t step : {10, 20, 30, 40}) note(remove_checkpoint(*disk, id(1, step)));
    note(unpin(*disk, id(1, 20)));
    note(set_lineage_aside(*disk, "mark"));
    return refusals;
  }

  ratoon::test::TemporaryFolder folder_;
  const fs::path run_ = folder_ / "run";
  const fs::path outside_ = folder_ / "outside";
  ResumePoint point_;
};

TEST_F(StrangeFolderTest, IsSoundBeforeAnybodyTouchedIt) {
  const auto disk = test::folder_at(run_);
  EXPECT_EQ(test::complete_in(*disk), (std::vector{id(1, 30), id(1, 20)}));
  EXPECT_TRUE(test::run_in(disk).load(point_, Rank(0)));
}

class LinkedTest : public StrangeFolderTest, public testing::WithParamInterface<const char*> {};

// A user moved it to another disk for lack of room, and left a link.
TEST_P(LinkedTest, WhatLiesElsewhereIsNotReadWrittenOrRemoved) {
  const fs::path place = run_ / GetParam();
  ASSERT_TRUE(fs::exists(place));
  fs::rename(place, outside_ / "moved");
  fs::create_symlink(outside_ / "moved", place);
  const Tree before = tree_below(outside_);
  const auto refusals = do_all();
  EXPECT_EQ(tree_below(outside_), before);
  EXPECT_THAT(refusals, testing::Contains(HasSubstr("links in a run's folder are not followed")));
}

INSTANTIATE_TEST_SUITE_P(Each, LinkedTest,
                         testing::Values("manifests", "packs", "packs/a0001", "packs/a0001/s0000000030",
                                         "receipts", "receipts/a0001", "receipts/a0001/s0000000030",
                                         "quarantine", "pins", "manifests/s0000000030.a0001.json",
                                         "packs/a0001/s0000000030/r0000.safetensors",
                                         "receipts/a0001/s0000000030/r0000.json"));

// Its packs were moved elsewhere, and only the manifest names them.
TEST_F(StrangeFolderTest, ACheckpointWhosePacksCannotBeRemovedKeepsItsManifest) {
  const Tree sound = tree_below(run_);
  for (const char* name : {"packs", "packs/a0001", "packs/a0001/s0000000020", "receipts", "receipts/a0001",
                           "receipts/a0001/s0000000020"}) {
    fs::rename(run_ / name, outside_ / "moved");
    fs::create_symlink(outside_ / "moved", run_ / name);
    const auto removed = remove_checkpoint(*test::folder_at(run_), id(1, 20));
    ASSERT_FALSE(removed) << name;
    EXPECT_THAT(removed.error().message(), HasSubstr("links in a run's folder are not followed")) << name;
    fs::remove(run_ / name);
    fs::rename(outside_ / "moved", run_ / name);
    EXPECT_EQ(tree_below(run_), sound) << name;
  }
  EXPECT_TRUE(remove_checkpoint(*test::folder_at(run_), id(1, 20)));
}

TEST_F(StrangeFolderTest, NoNameLeadsOutOfIt) {
  const auto disk = test::folder_at(run_);
  write_text(outside_ / "precious", "mine");
  const Tree before = tree_below(outside_);
  const std::vector<std::string> names = {"../outside/precious",
                                          "packs/../../outside/precious",
                                          outside_ / "precious",
                                          "packs//a0001",
                                          "packs/./a0001",
                                          "packs/",
                                          ".",
                                          "..",
                                          ""};
  for (const std::string& name : names) {
    EXPECT_FALSE(disk->open(name)) << name;
    EXPECT_FALSE(disk->create(name)) << name;
    EXPECT_FALSE(disk->remove(name)) << name;
    EXPECT_FALSE(disk->remove_folder(name)) << name;
    EXPECT_FALSE(disk->make_folder(name)) << name;
    EXPECT_FALSE(disk->rename_no_replace("manifests/s0000000030.a0001.json", name)) << name;
    EXPECT_FALSE(disk->rename_no_replace(name, "new")) << name;
  }
  EXPECT_EQ(tree_below(outside_), before);
  EXPECT_EQ(test::complete_in(*disk).size(), 2u);
}

// Foreign files beside, between and in place of our files.
TEST_F(StrangeFolderTest, FilesOfOthersSurviveEverything) {
  const Tree others = {{"notes.txt", "mine"},
                       {"manifests/notes.txt", "mine"},
                       {"manifests/s0000000030.a0001.json.bak", "mine"},
                       {"packs/a0001/model.safetensors", "mine"},
                       {"packs/a0001/s0000000010/notes", "mine"},
                       {"packs/a0001/s0000000030/r0000.safetensors.bak", "mine"},
                       {"packs/a0001/s0000000030/folder/r0000.safetensors", "mine"},
                       {"packs/a0001x/s0000000001/r0000.safetensors", "mine"},
                       {"packs/a0000/s1/r0000.safetensors", "mine"},
                       {"receipts/a0001/s0000000020/.r0000.json.swp", "mine"},
                       {"quarantine/why.txt", "mine"},
                       {"pins/README", "mine"},
                       {"wandb/run-1/files/config.yaml", "mine"}};
  for (const auto& [name, text] : others) {
    fs::create_directories((run_ / name).parent_path());
    write_text(run_ / name, text);
  }
  EXPECT_THAT(do_all(), testing::Each(testing::Not(HasSubstr("mine"))));
  for (const auto& [name, text] : others) EXPECT_EQ(read_text(run_ / name), text) << name;
  EXPECT_FALSE(fs::exists(run_ / "packs/a0001/s0000000030/r0000.safetensors")) << "ours went";
}

TEST_F(StrangeFolderTest, APipeOrAFolderInPlaceOfAFileIsNamedAndNobodyWaitsForIt) {
  const fs::path manifest = run_ / manifest_path(id(1, 30));
  const std::string text = read_text(manifest);
  fs::remove(manifest);
  ASSERT_EQ(::mkfifo(manifest.c_str(), 0600), 0);
  EXPECT_THAT(take_inventory(*test::folder_at(run_)).error().message(),
              HasSubstr("s0000000030.a0001.json is not a regular file; remove it"));
  fs::remove(manifest);
  write_text(manifest, text);
  const fs::path pack = run_ / pack_path(id(1, 30), Rank(0));
  fs::remove(pack);
  fs::create_directory(pack);
  EXPECT_THAT(test::run_in(test::folder_at(run_)).load(point_, Rank(0)).error().message(),
              HasSubstr("r0000.safetensors"));
  EXPECT_TRUE(fs::is_directory(pack));
}

// Checksums that fit, and a length that no memory holds: the file has no blocks where nothing was written.
TEST_F(StrangeFolderTest, AHeaderLongerThanAnyIsDamageAndNoMemoryIsAskedForIt) {
  constexpr std::uint64_t kHeaderBytes = 1ULL << 42;
  const fs::path manifest = run_ / manifest_path(id(1, 30));
  auto sealed = decode_manifest(read_text(manifest));
  ASSERT_TRUE(sealed);
  sealed->packs.front().size_bytes = sealed->packs.front().header_bytes = kHeaderBytes;
  const std::string text = encode_manifest(*sealed);
  write_text(manifest, text);
  fs::resize_file(run_ / pack_path(id(1, 30), Rank(0)), kHeaderBytes);
  const RunStore run = test::run_in(test::folder_at(run_));
  point_.digest = manifest_digest(text);
  for (const Error& error : {run.verify(id(1, 30)).error(), run.load(point_, Rank(0)).error()}) {
    EXPECT_EQ(error.kind(), ErrorKind::kCorrupted);
    EXPECT_THAT(error.message(), HasSubstr("r0000.safetensors was committed with a header of "));
  }
}

// A run that counted on from there would use names that no reader accepts, or begin with attempt 0 again.
TEST_F(StrangeFolderTest, ANumberThatNoManifestCanSayIsNobodysAttempt) {
  const std::set<std::string> foreign_paths = {"packs/a18446744073709551615",
                                               "packs/a9007199254740991",
                                               "packs/a1000000001",
                                               "aside/s0000000010.a9007199254740992.json",
                                               "history/a9007199254740992.jsonl",
                                               "manifests/s0000000010.a18446744073709551615.json",
                                               "manifests/s9007199254740992.a0001.json"};
  for (const std::string& name : foreign_paths) fs::create_directories(run_ / name);
  fs::create_directories(run_ / "packs/a0001x");
  EXPECT_EQ(take_inventory(*test::folder_at(run_))->foreign_paths, foreign_paths);
  write_text(run_ / "manifests/s0000000040.a18446744073709551615.json", "not ours");
  const auto found = take_inventory(*test::folder_at(run_));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->newest_attempt, Attempt(1));
  for (const std::string& name : foreign_paths) EXPECT_TRUE(fs::exists(run_ / name)) << name;
  EXPECT_THAT(do_all(), testing::Each(testing::Not(HasSubstr("18446744073709551615"))));
  EXPECT_EQ(read_text(run_ / "manifests/s0000000040.a18446744073709551615.json"), "not ours");
}

// A run that was begun with a later version: it is neither skipped nor set aside, nor mistaken for a new run.
TEST_F(StrangeFolderTest, WhatALaterVersionWroteIsRefusedWithASentenceAndStays) {
  const std::string text = read_text(run_ / manifest_path(id(1, 30)));
  const std::vector<std::string> later = {
      resealed(text, "\"format\": 2", "\"format\": 3"),
      resealed(text, "\"format\": 2", "\"format\": 3,\n \"shards\": [[[[[[[]]]]]]]"),
      resealed(text, "\"packs\"", "\"format\": 3, \"packages\"")};
  for (const std::string& other : later) {
    write_text(run_ / manifest_path(id(1, 30)), other);
    const Tree before = tree_below(run_);
    const auto refused = take_inventory(*test::folder_at(run_));
    ASSERT_FALSE(refused) << other;
    EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(refused.error().message(), HasSubstr("s0000000030.a0001.json: "));
    EXPECT_THAT(refused.error().message(), HasSubstr("use the Ratoon that wrote it"));
    const RunStore run = test::run_in(test::folder_at(run_));
    EXPECT_FALSE(run.retire_old({.last = 1}, Attempt(1)));
    EXPECT_FALSE(run.load(point_, Rank(0)));
    EXPECT_EQ(tree_below(run_), before);
  }
}

}  // namespace
}  // namespace ratoon::checkpoint::strange_folder_test
