// A cache and its disk: the moments at which files are durable, and a disk that is full.
#include <cerrno>
#include <functional>

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "tests/support/disk_watch.h"
#include "tests/support/other_user.h"
#include "tests/unit/agent/objects/object_cache_fixture.h"

namespace ratoon::objects::cache_disk_test {
namespace {

namespace fs = std::filesystem;
using ratoon::test::DiskWatch;
using test::ObjectCacheTest;
using test::read_all;
using test::write_text;
using testing::HasSubstr;

// Otherwise a crash of the machine may leave the name without the bytes.
TEST_F(ObjectCacheTest, AnObjectIsOnTheDiskBeforeItHasItsName) {
  const auto cache = open();
  const std::string name = object_name({"s3://bucket/a"});
  const std::string part = part_name(name);
  {
    const DiskWatch watch;
    ASSERT_TRUE(cache->get(request("a")));
    ASSERT_TRUE(cache->get(request("a")));
    EXPECT_THAT(watch.calls(), testing::ElementsAre("sync " + part + ", 10 bytes",
                                                    "rename " + part + " to " + name, "sync cache"));
  }
  const DiskWatch watch({.syncs = EIO});
  const auto refused = cache->get(request("b"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), testing::StartsWith("syncing "));
  EXPECT_EQ(watch.calls().size(), 1u) << "an error there is final";
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(ObjectCacheTest, SaysHowMuchADiskLacks) {
  const auto refused = open()->get(request("a", std::size_t{1} << 50));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kNoSpace) << refused.error().message();
  EXPECT_THAT(refused.error().message(), HasSubstr("s3://bucket/a needs 1125899906842624 bytes"));
  EXPECT_THAT(refused.error().message(), HasSubstr("bytes free"));
  EXPECT_EQ(fills_, 0) << "before the first byte is fetched";
  EXPECT_EQ(file_count(), 0u);
}

TEST_F(ObjectCacheTest, UsersShareAFolderThatTheyMayChange) {
  const fs::path cache = folder_ / "cache";
  const fs::path lock = cache / ".ratoon-cache-lock";
  ASSERT_TRUE(open()->get(request("a")));
  const auto modes = [](const fs::path& path) { return fs::status(path).permissions(); };
  EXPECT_EQ(modes(lock), modes(cache) & fs::perms(0666));
  fs::permissions(folder_.path(), fs::perms(0755));
  fs::permissions(cache, fs::perms(0777));
  ASSERT_TRUE(open()->get(request("b")));
  EXPECT_EQ(modes(lock), fs::perms(0666));
  const ratoon::test::OtherUser other;
  EXPECT_TRUE(open()->get(request("c")));
}

TEST_F(ObjectCacheTest, FilesOfAUserWhoSharesNothingStopNoOther) {
  const fs::path cache = folder_ / "cache";
  ASSERT_TRUE(open()->get(request("a")));
  const fs::path left = cache / part_name(object_name({"s3://bucket/b"}));
  write_text(left, "the beginning");
  for (const fs::path& theirs : {cache / ".ratoon-cache-lock", left})
    fs::permissions(theirs, fs::perms(0400));
  fs::permissions(folder_.path(), fs::perms(0755));
  fs::permissions(cache, fs::perms(0777));
  const ratoon::test::OtherUser other;
  const auto fetched = open()->get(request("b"));
  EXPECT_TRUE(fetched) << fetched.error().message();
}

// A disk of this process's own, of a megabyte. Unmounted when the process ends in any way.
bool mount_small_disk(const fs::path& folder) {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=1m") == 0;
}

// The results of a child process, because the test's own mounts are not to change.
void expect_on_a_small_disk(const fs::path& folder, const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!mount_small_disk(folder)) ::_exit(2);
    const bool is_right = holds();
    ::_exit(is_right && !testing::Test::HasFailure() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "mounting a small disk needs a privileged user";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(ObjectCacheTest, AFullDiskIsSaidAndGoesOnWhenThereIsRoom) {
  fs::create_directories(folder_ / "cache");
  expect_on_a_small_disk(folder_ / "cache", [this] {
    const auto cache = open();
    EXPECT_TRUE(cache->get(request("a", 700'000)));
    const auto refused = cache->get(request("b", 700'000));
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorKind::kNoSpace);
    EXPECT_THAT(refused.error().message(), HasSubstr("caching s3://bucket/b needs 700000 bytes"));
    EXPECT_EQ(fills_, 1) << "before the first byte is fetched";
    EXPECT_EQ(file_count(), 1u);
    EXPECT_TRUE(cache->discard({"s3://bucket/a"}));
    EXPECT_EQ(read_all(cache->get(request("b", 700'000)).value()), bytes_of("b", 700'000));
    return true;
  });
}

TEST_F(ObjectCacheTest, RoomThatWasTakenStaysUntilItIsWritten) {
  fs::create_directories(folder_ / "cache");
  expect_on_a_small_disk(folder_ / "cache", [this] {
    const auto cache = open();
    auto crowded = request("a", 700'000);
    crowded.fill = [this, fill = crowded.fill](FileSink& file, const std::stop_token& stop) {
      ratoon::test::write_text(folder_ / "cache/of-somebody-else", std::string(700'000, 'x'));
      return fill(file, stop);
    };
    EXPECT_EQ(read_all(cache->get(crowded).value()), bytes_of("a", 700'000));
    return true;
  });
}

TEST_F(ObjectCacheTest, AQuotaThatIsUsedUpIsSaidBeforeTheFirstByte) {
  for (const int problem : {ENOSPC, EDQUOT}) {
    const DiskWatch watch({.allocations = problem});
    const auto refused = open()->get(request("a"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorKind::kNoSpace);
    EXPECT_THAT(refused.error().message(), HasSubstr("caching s3://bucket/a needs 10 bytes"));
  }
  EXPECT_EQ(fills_, 0);
}

TEST_F(ObjectCacheTest, ADiskThatTakesNoRoomBeforehandWillDo) {
  const DiskWatch watch({.allocations = EOPNOTSUPP});
  EXPECT_EQ(read_all(open()->get(request("a")).value()), bytes_of("a", 10));
}

TEST_F(ObjectCacheTest, ADownloadThatFindsNoRoomSaysWhatToDo) {
  auto unlucky = request("a");
  unlucky.fill = [](FileSink&, const std::stop_token&) -> Result<void> {
    return Error(ErrorKind::kNoSpace, "writing a part: No space left on device");
  };
  const auto refused = open()->get(unlucky);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kNoSpace);
  EXPECT_THAT(refused.error().message(), HasSubstr("free space there"));
  EXPECT_EQ(file_count(), 0u);
}

}  // namespace
}  // namespace ratoon::objects::cache_disk_test
