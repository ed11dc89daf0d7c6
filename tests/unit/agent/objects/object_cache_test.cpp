// A cache folder: complete files only, fetched once, within its limit, with any other processes.
#include <atomic>
#include <latch>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "tests/unit/agent/objects/object_cache_fixture.h"

namespace ratoon::objects::object_cache_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::ObjectCacheTest;
using test::read_all;
using testing::HasSubstr;

TEST_F(ObjectCacheTest, FetchesOnce) {
  const auto cache = open();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(read_all(cache->get(request("a")).value()), bytes_of("a", 10));
  const auto other = open();
  EXPECT_EQ(read_all(other->get(request("a")).value()), bytes_of("a", 10));
  EXPECT_EQ(fills_, 1);
  EXPECT_EQ(cache->counts().found, 2u);
  EXPECT_EQ(cache->counts().fetched, 1u);
  EXPECT_EQ(read_all(cache->get(request("empty", 0)).value()), "");
}

TEST_F(ObjectCacheTest, WhatIsNotRightNeverGetsItsName) {
  const auto cache = open();
  auto bad = request("a");
  bad.verify = [&](std::span<const std::byte> bytes) -> Result<void> {
    EXPECT_FALSE(is_cached("a")) << "it is looked at before it has its name";
    EXPECT_EQ(bytes.size(), 10u);
    return Error(ErrorKind::kCorrupted, "sha1 is wrong");
  };
  const auto refused = cache->get(bad);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kCorrupted);
  EXPECT_EQ(refused.error().message(), "checking s3://bucket/a: sha1 is wrong");

  auto torn = request("b");
  torn.fill = [](FileSink& file, const std::stop_token&) -> Result<void> {
    if (auto written = file.write("half"); !written) return written;
    return Error(ErrorKind::kUnavailable, "cut");
  };
  EXPECT_EQ(cache->get(torn).error().message(), "cut");

  auto small = request("c");
  small.fill = [](FileSink& file, const std::stop_token&) { return file.write("short"); };
  EXPECT_THAT(cache->get(small).error().message(), HasSubstr("gave 5 bytes, expected 10 bytes"));
  auto large = request("d");
  large.fill = [](FileSink& file, const std::stop_token&) { return file.write("far too long"); };
  EXPECT_THAT(cache->get(large).error().message(), HasSubstr("longer than the 10 bytes"));
  EXPECT_EQ(file_count(), 0u) << "and nothing is left of it";
  EXPECT_EQ(read_all(cache->get(request("a")).value()), bytes_of("a", 10));
}

TEST_F(ObjectCacheTest, ADownloadThatBeginsAnewCountsFromZero) {
  auto twice = request("a");
  twice.fill = [](FileSink& file, const std::stop_token&) -> Result<void> {
    for (const std::string text : {"wrong", "0123456789"}) {
      if (auto begun = file.begin({}); !begun) return begun;
      if (auto written = file.write(text); !written) return written;
    }
    return {};
  };
  EXPECT_EQ(read_all(open()->get(twice).value()), "0123456789");
}

TEST_F(ObjectCacheTest, AFileOfAnotherSizeIsFetchedAgain) {
  const auto cache = open();
  ASSERT_TRUE(cache->get(request("a")));
  for (const int size : {3, 0, 11}) {
    fs::resize_file(path_of("a"), static_cast<std::uintmax_t>(size));
    EXPECT_EQ(read_all(cache->get(request("a")).value()), bytes_of("a", 10)) << size;
  }
  EXPECT_EQ(fills_, 4);
}

TEST_F(ObjectCacheTest, ForgetsWhatTurnedOutBad) {
  const auto cache = open();
  const auto held = cache->get(request("a")).value();
  ASSERT_TRUE(cache->discard({"s3://bucket/a"}));
  EXPECT_FALSE(is_cached("a"));
  EXPECT_EQ(read_all(held), bytes_of("a", 10)) << "whoever has it open keeps it";
  ASSERT_TRUE(cache->get(request("a")));
  EXPECT_EQ(fills_, 2);
}

TEST_F(ObjectCacheTest, RefusesAnObjectOverItsLimitAtOnce) {
  const auto refused = open(9)->get(request("a"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(refused.error().message(), HasSubstr("s3://bucket/a has 10 bytes"));
  EXPECT_THAT(refused.error().message(), HasSubstr("may hold 9 bytes"));
  EXPECT_EQ(fills_, 0);
}

TEST_F(ObjectCacheTest, EvictsTheLeastRecentlyUsed) {
  const auto cache = open(30);
  for (const std::string name : {"a", "b", "c"}) ASSERT_TRUE(cache->get(request(name)));
  set_last_use("a", 1'000);
  set_last_use("b", 3'000);
  set_last_use("c", 2'000);
  ASSERT_TRUE(cache->get(request("a"))) << "which is now the one used last";
  ASSERT_TRUE(cache->get(request("d")));
  EXPECT_TRUE(is_cached("a"));
  EXPECT_TRUE(is_cached("b"));
  EXPECT_FALSE(is_cached("c"));
  EXPECT_EQ(cache->counts().evicted, 1u);
}

TEST_F(ObjectCacheTest, KeepsWhatIsExpectedSoonest) {
  const auto cache = open(30);
  for (const std::string name : {"a", "b", "c"}) ASSERT_TRUE(cache->get(request(name)));
  set_last_use("a", 1'000);
  set_last_use("b", 2'000);
  set_last_use("c", 3'000);
  cache->set_next_uses(
      [] { return std::vector<CacheKey>{{"s3://bucket/a"}, {"s3://bucket/c"}, {"s3://bucket/b"}}; });
  ASSERT_TRUE(cache->get(request("d")));
  EXPECT_TRUE(is_cached("a"));
  EXPECT_FALSE(is_cached("b")) << "the one that is needed last";
  EXPECT_TRUE(is_cached("c"));
}

TEST_F(ObjectCacheTest, OfSeveralUsesTheNextOneCounts) {
  const auto cache = open(30);
  for (const std::string name : {"a", "b", "c"}) ASSERT_TRUE(cache->get(request(name)));
  cache->set_next_uses([] {
    return std::vector<CacheKey>{{"s3://bucket/b"}, {"s3://bucket/a"}, {"s3://bucket/c"}, {"s3://bucket/b"}};
  });
  ASSERT_TRUE(cache->get(request("d")));
  EXPECT_TRUE(is_cached("b"));
  EXPECT_FALSE(is_cached("c"));
}

TEST_F(ObjectCacheTest, LeavesOpenFilesAndSaysSoWhenAllAre) {
  const auto cache = open(20);
  auto held = std::make_optional(cache->get(request("a")).value());
  set_last_use("a", 1'000);
  ASSERT_TRUE(cache->get(request("b")));
  ASSERT_TRUE(open(20)->get(request("c"))) << "another process";
  EXPECT_TRUE(is_cached("a")) << "the oldest, but open";
  EXPECT_FALSE(is_cached("b"));

  const auto other = cache->get(request("c")).value();
  const auto refused = cache->get(request("d"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kNoSpace);
  EXPECT_THAT(refused.error().message(), HasSubstr("full of files that are open"));
  EXPECT_THAT(refused.error().message(), HasSubstr("10 bytes more than is left of the limit of 20 bytes"));
  held.reset();
  EXPECT_TRUE(cache->get(request("d")));
  EXPECT_EQ(file_count(), 2u);
}

// A limit of twenty files, and five times as many: the folder is listed once in several evictions.
TEST_F(ObjectCacheTest, LooksAtTheFolderOnlyWhenItMust) {
  const auto cache = open(200);
  for (int object = 0; object < 100; ++object) ASSERT_TRUE(cache->get(request(std::to_string(object))));
  EXPECT_EQ(file_count(), 20u);
  EXPECT_EQ(cache->counts().evicted, 80u);
  EXPECT_LE(cache->counts().folder_scans, 6u);
  for (int object = 80; object < 100; ++object) EXPECT_TRUE(is_cached(std::to_string(object))) << object;
}

// Several processes, one of them without a limit; some fail, some forget, and some start anew meanwhile.
TEST_F(ObjectCacheTest, TheLimitHoldsWhoeverElseWrites) {
  constexpr std::uint64_t kLimit = 200;
  std::vector<std::unique_ptr<ObjectCache>> caches;
  for (int i = 0; i < 3; ++i) caches.push_back(open(kLimit));
  const auto unlimited = open(0);
  std::uint64_t state = 1;
  const auto draw = [&state](std::uint64_t below) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % below;
  };
  for (int round = 0; round < 100; ++round) {
    auto& cache = caches[draw(3)];
    const std::string name = std::to_string(draw(60));
    auto wanted = request(name, 1 + draw(50));
    if (draw(10) == 0) {
      wanted.fill = [](FileSink&, const std::stop_token&) { return Error(ErrorKind::kIo, "no"); };
    }
    if (draw(20) == 0) static_cast<void>(cache->discard({"s3://bucket/" + name}));
    if (draw(50) == 0) cache = open(kLimit);
    if (draw(15) == 0) static_cast<void>(unlimited->get(request("u" + name, 1 + draw(20))));
    const std::uint64_t fetched = cache->counts().fetched;
    static_cast<void>(cache->get(wanted));
    if (cache->counts().fetched == fetched) continue;  // whoever has no limit may have filled the folder
    std::uint64_t bytes = 0;
    for (const auto& file : fs::directory_iterator(folder_ / "cache"))
      bytes += file.path().extension() == ".object" ? file.file_size() : 0;
    ASSERT_LE(bytes, kLimit) << "round " << round;
  }
}

TEST_F(ObjectCacheTest, WaitsForRoomThatSomebodyGivesUp) {
  const auto cache = open(10, 10s);
  auto held = std::make_optional(cache->get(request("a")).value());
  std::jthread reader([&] {
    while (!fs::exists(folder_ / "cache" / part_name(object_name({"s3://bucket/b"}))))
      std::this_thread::yield();
    held.reset();
  });
  EXPECT_TRUE(cache->get(request("b")));
}

TEST_F(ObjectCacheTest, LeavesFilesOfOthersAlone) {
  fs::create_directories(folder_ / "cache");
  ratoon::test::write_text(folder_ / "cache/model.pt", std::string(100, 'x'));
  ratoon::test::write_text(folder_ / "cache/notes.part", "mine");
  const auto cache = open(10);
  ASSERT_TRUE(cache->get(request("a")));
  ASSERT_TRUE(cache->get(request("b")));
  EXPECT_TRUE(fs::exists(folder_ / "cache/model.pt"));
  EXPECT_TRUE(fs::exists(folder_ / "cache/notes.part"));
}

TEST_F(ObjectCacheTest, FollowsNoLinks) {
  const auto cache = open();
  ratoon::test::write_text(folder_ / "precious", "0123456789");
  fs::create_symlink(folder_ / "precious", path_of("a"));
  const auto refused = cache->get(request("a"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("is a link"));
  fs::create_symlink(folder_ / "precious", folder_ / "cache" / part_name(object_name({"s3://bucket/b"})));
  EXPECT_FALSE(cache->get(request("b")));
  EXPECT_EQ(ratoon::test::read_text(folder_ / "precious"), "0123456789");
}

TEST_F(ObjectCacheTest, SweepsWhatDeadWritersLeft) {
  static_cast<void>(open());
  const fs::path part = folder_ / "cache" / part_name(object_name({"s3://bucket/a"}));
  const fs::path other = folder_ / "cache" / part_name(object_name({"s3://bucket/b"}), "0123456789abcdef");
  const fs::path alive = folder_ / "cache" / part_name(object_name({"s3://bucket/c"}));
  for (const auto& path : {part, other, alive}) ratoon::test::write_text(path, "half");
  const UniqueFd writer(::open(alive.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(writer.get(), LOCK_EX | LOCK_NB), 0);
  const auto cache = open();
  EXPECT_FALSE(fs::exists(part));
  EXPECT_FALSE(fs::exists(other));
  EXPECT_TRUE(fs::exists(alive)) << "somebody is at it";
}

TEST_F(ObjectCacheTest, TakesOverThePartOfADeadWriter) {
  const auto cache = open();
  ratoon::test::write_text(folder_ / "cache" / part_name(object_name({"s3://bucket/a"})),
                           "longer than what comes now");
  EXPECT_EQ(read_all(cache->get(request("a")).value()), bytes_of("a", 10));
  EXPECT_EQ(fills_, 1) << "what was left behind is in nobody's way";
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(ObjectCacheTest, WhatOthersAreWritingCountsToo) {
  const auto cache = open(20);
  const fs::path part = folder_ / "cache" / part_name(object_name({"s3://bucket/b"}));
  ratoon::test::write_text(part, std::string(15, 'x'));
  UniqueFd writer(::open(part.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(writer.get(), LOCK_EX | LOCK_NB), 0);
  const auto refused = cache->get(request("a"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("5 bytes more than is left of the limit of 20 bytes"));
  writer.reset();
  EXPECT_TRUE(cache->get(request("a"))) << "that of a dead writer does not";
}

TEST_F(ObjectCacheTest, DoesNotWaitForEverForAWriterThatStandsStill) {
  const auto cache = open(100);
  const fs::path part = folder_ / "cache" / part_name(object_name({"s3://bucket/a"}));
  ratoon::test::write_text(part, "half");
  const UniqueFd stopped(::open(part.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(stopped.get(), LOCK_EX | LOCK_NB), 0);
  const UniqueFd lock(
      ::open((folder_ / "cache/.ratoon-cache-lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(read_all(cache->get(request("a")).value()), bytes_of("a", 10));
}

TEST_F(ObjectCacheTest, WaitsForASlowWriterAsLongAsItWrites) {
  const auto cache = open(0, 3s);
  const fs::path part = folder_ / "cache" / part_name(object_name({"s3://bucket/a"}));
  ratoon::test::write_text(part, "");
  const UniqueFd fd(::open(part.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(fd.get(), LOCK_EX | LOCK_NB), 0);
  std::jthread writer([&] {
    const SystemClock clock;
    const Timestamp began = clock.now();
    while (clock.now() - began < 4s) {
      EXPECT_EQ(::pwrite(fd.get(), bytes_of("a", 10).data(), 10, 0), 10);
    }
    fs::rename(part, path_of("a"));
    ::flock(fd.get(), LOCK_UN);
  });
  EXPECT_EQ(read_all(cache->get(request("a")).value()), bytes_of("a", 10));
  EXPECT_EQ(fills_, 0);
}

TEST_F(ObjectCacheTest, ThreadsThatWantTheSameFetchItOnce) {
  const auto cache = open(1'000, 10s);
  std::latch all_here(8);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      auto slow = request("a");
      slow.fill = [this, fill = slow.fill](FileSink& file, const std::stop_token& stop) {
        const auto filled = fill(file, stop);
        EXPECT_FALSE(is_cached("a"));
        std::this_thread::yield();
        return filled;
      };
      all_here.arrive_and_wait();
      EXPECT_EQ(read_all(cache->get(slow).value()), bytes_of("a", 10));
    });
  }
  threads.clear();
  EXPECT_EQ(fills_, 1);
  EXPECT_EQ(cache->counts().found, 7u);
}

// Locks are taken and released and files removed at the same moments, again and again.
TEST_F(ObjectCacheTest, ManyThreadsOverManyObjectsFetchEachOnceWhileOthersSweep) {
  constexpr int kObjects = 200;
  const auto cache = open(0, 20s);
  std::atomic<bool> is_over = false;
  std::jthread sweeper([&] {
    while (!is_over) static_cast<void>(open());
  });
  std::vector<std::jthread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      for (int object = 0; object < kObjects; ++object) {
        const std::string name = std::to_string(object);
        const auto file = cache->get(request(name));
        ASSERT_TRUE(file) << file.error().message();
        EXPECT_EQ(read_all(*file), bytes_of(name, 10));
      }
    });
  }
  readers.clear();
  is_over = true;
  EXPECT_EQ(fills_, kObjects);
  EXPECT_EQ(cache->counts().fetched, std::uint64_t{kObjects});
}

// Between opening a file and locking it, its writer may have published it and another file may have the name.
TEST_F(ObjectCacheTest, ALockIsOfTheFileThatStandsUnderTheName) {
  const std::string part = part_name(object_name({"s3://bucket/a"}));
  const auto folder = CacheFolder::open(folder_ / "cache").value();
  std::atomic<int> wrong = 0;
  std::atomic<int> locks = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, name = std::to_string(i)] {
      for (int round = 0; round < 10'000; ++round) {
        const auto opened = folder.open_part(part);
        ASSERT_TRUE(opened) << opened.error().message();
        if (opened->outcome != CacheFolder::OpenOutcome::kOpen) continue;
        ++locks;
        struct stat ours{};
        struct stat named{};
        const bool is_ours = ::fstat(opened->fd.get(), &ours) == 0 &&
                             ::stat((folder_ / "cache" / part).c_str(), &named) == 0 &&
                             ours.st_ino == named.st_ino;
        wrong += is_ours ? 0 : 1;
        fs::rename(folder_ / "cache" / part, folder_ / "cache" / name);  // throws unless only we may
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(locks, 1'000);
}

TEST_F(ObjectCacheTest, AWaitEndsWhenItIsTold) {
  const auto cache = open(0, 1h);
  const fs::path part = folder_ / "cache" / part_name(object_name({"s3://bucket/a"}));
  ratoon::test::write_text(part, "half");
  const UniqueFd writer(::open(part.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(writer.get(), LOCK_EX | LOCK_NB), 0);
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(cache->get(request("a"), stop.get_token()).error().kind(), ErrorKind::kCancelled);
}

}  // namespace
}  // namespace ratoon::objects::object_cache_test
