#include "agent/src/checkpoint/tiers/stale_links.h"

#include <set>

#include <gmock/gmock.h>

#include "agent/src/checkpoint/tiers/latest.h"
#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::checkpoint::stale_links_test {
namespace {

namespace fs = std::filesystem;
using test::id;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

class OldNames : public testing::Test {
 protected:
  // The files other than packs, receipts and manifests.
  std::set<std::string> names(const std::string& place) {
    std::set<std::string> found;
    for (fs::recursive_directory_iterator at(folder_ / place), end; at != end; ++at) {
      const std::string name = at->path().lexically_relative(folder_ / place).string();
      if (at.depth() == 0 && is_reserved_in_run_folder(name))
        at.disable_recursion_pending();
      else
        found.insert(name);
    }
    return found;
  }
  void link(const std::string& target, const std::string& name) {
    fs::create_symlink(target, folder_ / "run" / name);
  }
  static void expect_done(const Result<void>& result) { EXPECT_TRUE(result) << result.error().message(); }

  ratoon::test::TemporaryFolder folder_;
};

TEST_F(OldNames, LinksThatLeadNowhereGoAndNothingElse) {
  const auto disk = test::folder_at(folder_ / "run");
  for (const std::uint64_t step : {10, 20}) {
    const LatestCheckpoint latest{.id = id(1, step), .digest = test::digest_of_commit(disk, id(1, step))};
    ASSERT_TRUE(update_latest(folder_ / "run", "ba" + std::to_string(step) + "-0", latest, "m"));
  }
  link("packs/a0001/s0000000010/r0003.safetensors", "ba10-3");  // of a rank of a larger world
  link("packs/a0001/s0000000010/r0000.safetensors", "mine");    // another name
  link("packs/a0001/s0000000010", "ba1-0");                     // leads elsewhere, as do these
  link("packs/a0001/s0000000010/r0000.json", "ba2-0");
  link("../gone/packs/a0001/s0000000010/r0000.safetensors", "ba3-0");
  link((folder_ / "run/packs/a0001/s0000000010/r0000.safetensors").string(), "ba4-0");
  ratoon::test::write_text(folder_ / "run/ba5-0", "notes");
  const auto all = names("run");
  expect_done(remove_stale_links(folder_ / "run", "ba{batch}-{rank}", "run"));
  EXPECT_NE(names("run"), all) << "there never was a pack of rank 3";
  ASSERT_TRUE(test::run_in(disk).retire_old({.last = 1}, Attempt(1)));
  expect_done(remove_stale_links(folder_ / "run", "ba{batch}-{rank}", "run"));
  EXPECT_THAT(names("run"),
              UnorderedElementsAre("ba20-0", "mine", "ba1-0", "ba2-0", "ba3-0", "ba4-0", "ba5-0"));
}

TEST_F(OldNames, FoldersThatHadNothingElseGoToo) {
  const auto disk = test::folder_at(folder_ / "run");
  for (const std::uint64_t step : {10, 20, 30}) {
    const LatestCheckpoint latest{.id = id(1, step), .digest = test::digest_of_commit(disk, id(1, step))};
    ASSERT_TRUE(update_latest(folder_ / "run", "at/ep" + std::to_string(step / 10) + "/0", latest, "m"));
  }
  ratoon::test::write_text(folder_ / "run/at/ep2/notes", "mine");
  fs::create_directory(folder_ / "run/at/ep7");
  fs::create_directory_symlink("ep1", folder_ / "run/at/ep8");
  ASSERT_TRUE(test::run_in(disk).retire_old({.last = 1}, Attempt(1)));
  expect_done(remove_stale_links(folder_ / "run", "at/ep{epoch}/{rank}", "run"));
  EXPECT_THAT(names("run"),
              UnorderedElementsAre("at", "at/ep2", "at/ep2/notes", "at/ep3", "at/ep3/0", "at/ep7", "at/ep8"));
}

TEST_F(OldNames, PointersOfAStoreGoWithTheirPacks) {
  const auto store = test::store_at(folder_ / "store");
  for (const std::uint64_t step : {10, 20}) {
    const LatestCheckpoint latest{.id = id(1, step), .digest = test::digest_of_commit(store, id(1, step))};
    ASSERT_TRUE(update_latest(*store, "run/ba" + std::to_string(step), latest));
  }
  const std::string pointer = ratoon::test::read_text(folder_ / "store/run/ba10");
  const std::map<std::string, std::string> others = {
      {"run/mine", pointer},
      {"run/ba1", "notes"},
      {"run/ba2", R"({"attempt": 1, "step": 10})"},
      {"run/ba3",
       R"({"attempt": 1, "step": 10, "manifest": "manifests/s0000000010.a0001.json", "pack": "x"})"},
      {"run/ba4", std::string(5000, ' ')}};
  for (const auto& [name, text] : others) ASSERT_TRUE(store->store().put(name, text));
  expect_done(remove_stale_pointers(*store, "{run_name}/ba{batch}", "run"));
  EXPECT_TRUE(names("store").contains("run/ba10")) << "what it leads to is there";
  ASSERT_TRUE(test::run_in(store).retire_old({.last = 1}, Attempt(1)));
  expect_done(remove_stale_pointers(*store, "{run_name}/ba{batch}", "run"));
  EXPECT_THAT(names("store"), UnorderedElementsAre("run", "run/ba20", "run/mine", "run/ba1", "run/ba2",
                                                   "run/ba3", "run/ba4"));
}

// A process was killed between making a link and giving it its name.
TEST_F(OldNames, LinksOfKilledProcessesGo) {
  const auto disk = test::folder_at(folder_ / "run");
  for (const std::uint64_t attempt : {1, 2}) static_cast<void>(test::digest_of_commit(disk, id(attempt, 10)));
  link("packs/a0001/s0000000010/r0000.safetensors", ".latest-rank0.0123.tmp");
  link("packs/a0002/s0000000010/r0000.safetensors", ".latest-rank0.4567.tmp");  // to be named in a moment
  link("packs/a0001/s0000000010/r0000.safetensors", ".other.0123.tmp");         // another name
  link("elsewhere", ".latest-rank1.0123.tmp");
  link("packs/a0001/s0000000005/r0001.safetensors",
       "latest-rank1");  // gone, and the name is no checkpoint's own
  expect_done(remove_stale_links(folder_ / "run", "latest-rank{rank}", "digits"));
  EXPECT_THAT(names("run"), UnorderedElementsAre(".latest-rank0.4567.tmp", ".other.0123.tmp",
                                                 ".latest-rank1.0123.tmp", "latest-rank1"));
}

}  // namespace
}  // namespace ratoon::checkpoint::stale_links_test
