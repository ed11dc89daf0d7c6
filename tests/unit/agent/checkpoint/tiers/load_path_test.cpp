#include "agent/src/checkpoint/tiers/load_path.h"

#include <gmock/gmock.h>

#include "tests/unit/agent/checkpoint/tiers/places.h"

namespace ratoon::checkpoint::load_path_test {
namespace {

namespace fs = std::filesystem;
using test::id;
using testing::HasSubstr;

TEST(LoadPath, ARunOrOneManifest) {
  EXPECT_EQ(parse_load_path("s3://b/runs/x/").uri, "s3://b/runs/x");
  EXPECT_FALSE(parse_load_path("s3://b/runs/x").id);
  const LoadLocation one = parse_load_path("https://h/x/manifests/s0000001200.a0003.json");
  EXPECT_EQ(one.uri, "https://h/x");
  EXPECT_EQ(one.id, id(3, 1200));
  EXPECT_FALSE(parse_load_path("/x/other/s0000001200.a0003.json").id);
}

class LoadPathTest : public testing::Test {
 protected:
  LoadPathTest() : disk_(test::folder_at(folder_ / "run")) {
    test::digest_of_commit(disk_, id(1, 10));
    test::digest_of_commit(disk_, id(1, 20));
  }
  char first_byte(const std::string& path) {
    const auto source = open_load_path(path, {});
    EXPECT_TRUE(source) << (source ? "" : source.error().message());
    return load_tensors_of_rank(*source, Rank(5))->at("w").bytes.at(0);
  }
  ratoon::test::TemporaryFolder folder_;
  std::shared_ptr<Disk> disk_;
};

TEST_F(LoadPathTest, TheNewestOrTheNamed) {
  const std::string run = (folder_ / "run").string();
  EXPECT_EQ(first_byte(run), 'a' + 20);
  EXPECT_EQ(first_byte("file://" + run + "/manifests/s0000000010.a0001.json"), 'a' + 10);
}

TEST_F(LoadPathTest, AFolderIsSeenThroughWhatIsGiven) {
  std::vector<std::string> seen;
  const auto source = open_load_path((folder_ / "run").string(), {}, [&](const std::shared_ptr<Disk>& disk) {
    seen.push_back(disk->shown(""));
    return disk_;
  });
  ASSERT_TRUE(source) << source.error().message();
  EXPECT_EQ(source->disk, disk_);
  EXPECT_THAT(seen, testing::ElementsAre(testing::EndsWith("/run/")));
}

TEST_F(LoadPathTest, NothingIsBegunFromNothing) {
  const std::string run = (folder_ / "run").string();
  EXPECT_EQ(open_load_path(run + "/manifests/s0000000030.a0001.json", {}).error().kind(),
            ErrorKind::kNotFound);
  const auto nothing = open_load_path((folder_ / "nowhere").string(), {});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind(), ErrorKind::kNotFound);
  EXPECT_THAT(nothing.error().message(), HasSubstr("nowhere/manifests: name the folder of a run"));
  EXPECT_FALSE(fs::exists(folder_ / "nowhere")) << "it is only read";
  for (const std::uint64_t step : {10, 20}) fs::resize_file(folder_ / "run" / manifest_path(id(1, step)), 30);
  EXPECT_EQ(open_load_path(run, {}).error().kind(), ErrorKind::kCorrupted);
}

}  // namespace
}  // namespace ratoon::checkpoint::load_path_test
