#include "agent/src/checkpoint/tiers/latest.h"

#include <gmock/gmock.h>

#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::checkpoint::latest_test {
namespace {

namespace fs = std::filesystem;
using test::id;
using testing::HasSubstr;

TEST(Latest, IsALinkToTheRanksPack) {
  const ratoon::test::TemporaryFolder folder;
  const auto disk = test::folder_at(folder / "run");
  const std::string digest = test::digest_of_commit(disk, id(1, 20));
  for (const char* name : {"latest-rank0", "checkpoints/latest-rank0"}) {
    ASSERT_TRUE(update_latest(folder / "run", name, {.id = id(1, 20), .digest = digest}, "m"));
    EXPECT_TRUE(fs::is_symlink(folder / "run" / name));
    EXPECT_TRUE(fs::read_symlink(folder / "run" / name).is_relative()) << "the folder may be moved";
    EXPECT_EQ(fs::canonical(folder / "run" / name),
              fs::canonical(folder / "run" / pack_path(id(1, 20), Rank(0))));
  }
}

TEST(Latest, GoesOnAndIsNotTurnedBack) {
  const ratoon::test::TemporaryFolder folder;
  const auto store = test::store_at(folder / "store");
  const auto link = [&] { return fs::read_symlink(folder / "run/latest").parent_path().filename(); };
  fs::create_directories(folder / "run");
  for (const auto& [which, step] :
       {std::pair(id(1, 20), "20,"), std::pair(id(2, 10), "10,"), std::pair(id(1, 30), "10,")}) {
    const LatestCheckpoint latest{.id = which, .digest = "d"};
    ASSERT_TRUE(update_latest(folder / "run", "latest", latest, "m"));
    ASSERT_TRUE(update_latest(*store, "checkpoints/latest-rank0", latest));
    EXPECT_THAT(ratoon::test::read_text(folder / "store/checkpoints/latest-rank0"),
                HasSubstr("\"step\": " + std::string(step).substr(0, 2)));
    EXPECT_EQ(link(), "s00000000" + std::string(step).substr(0, 2));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "run"), {}), 1) << "no temporary link is left";
}

TEST(Latest, WhatIsAPersonsOwnStays) {
  const ratoon::test::TemporaryFolder folder;
  fs::create_directories(folder / "run");
  ratoon::test::write_text(folder / "run/latest", "notes");
  const auto refused = update_latest(folder / "run", "latest", {.id = id(1, 20)}, "m");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_EQ(ratoon::test::read_text(folder / "run/latest"), "notes");
  EXPECT_FALSE(update_latest(folder / "run", "../latest", {.id = id(1, 20)}, "m"));
}

TEST(Latest, WhatIsNoPointerIsReplaced) {
  const ratoon::test::TemporaryFolder folder;
  const auto store = test::store_at(folder / "store");
  for (const char* text :
       {"", "{}", "{\"attempt\": -1, \"step\": 3}", "[", "{\"attempt\": 1e300, \"step\": 1}"}) {
    ASSERT_TRUE(store->store().put("latest", text));
    ASSERT_TRUE(update_latest(*store, "latest", {.id = id(1, 20), .digest = "d"}));
    EXPECT_THAT(ratoon::test::read_text(folder / "store/latest"),
                HasSubstr("\"manifest\": \"manifests/s0000000020.a0001.json\""))
        << text;
  }
}

}  // namespace
}  // namespace ratoon::checkpoint::latest_test
