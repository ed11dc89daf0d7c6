// A folder as a store.
#include <atomic>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/src/objects/object_store.h"
#include "agent/src/objects/sinks.h"
#include "agent/src/objects/sources.h"
#include "base/core/crc32c.h"
#include "base/core/unique_fd.h"
#include "tests/support/temporary_folder.h"

namespace {

std::atomic<int> clock_is_ahead_seconds = 0;

}  // namespace

// Replaces the library's function, for this machine's clock alone: the kernel gives files their times.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_REALTIME) time->tv_sec += clock_is_ahead_seconds;
  return result;
}

namespace ratoon::objects::file_store_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FileStoreTest : public testing::Test {
 protected:
  std::string read(std::string_view key, std::optional<ByteRange> range = {}) {
    MemorySink sink;
    const auto got = store_->get(key, sink, {.range = range});
    EXPECT_TRUE(got) << got.error().message();
    return sink.take();
  }
  Error failure_of(std::string_view key, std::optional<ByteRange> range = {}) {
    MemorySink sink;
    const auto got = store_->get(key, sink, {.range = range});
    EXPECT_FALSE(got);
    return got.error();
  }
  std::vector<std::string> keys(std::string_view prefix) {
    std::vector<std::string> all;
    const auto listed = list_all(*store_, prefix);
    EXPECT_TRUE(listed) << listed.error().message();
    for (const auto& object : *listed) all.push_back(object.key);
    return all;
  }

  // All files in the folder, in order.
  std::vector<std::string> files() {
    std::vector<std::string> all;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder_ / "new/store"))
      all.push_back(file.path().lexically_relative(folder_ / "new/store"));
    std::sort(all.begin(), all.end());
    return all;
  }

  test::TemporaryFolder folder_;
  std::shared_ptr<ObjectStore> store_ = open_store((folder_ / "new/store").string(), {}).value();
};

TEST_F(FileStoreTest, GivesBackWhatWasPut) {
  ASSERT_TRUE(store_->put("a/b", "hello"));
  EXPECT_EQ(read("a/b"), "hello");
  EXPECT_EQ(store_->head("a/b").value(), (ObjectInfo{.key = "a/b", .size_bytes = 5}));
  ASSERT_TRUE(store_->put("a/b", "again"));
  EXPECT_EQ(read("a/b"), "again");
  ASSERT_TRUE(store_->put("empty", ""));
  EXPECT_EQ(read("empty"), "");
}

TEST_F(FileStoreTest, CreatesOnce) {
  ASSERT_TRUE(store_->put("a", "first", {.replaces = false}));
  const auto second = store_->put("a", "second", {.replaces = false});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_EQ(read("a"), "first");
}

TEST_F(FileStoreTest, GivesRanges) {
  ASSERT_TRUE(store_->put("a", "0123456789"));
  EXPECT_EQ(read("a", ByteRange{2, 5}), "234");
  EXPECT_EQ(read("a", ByteRange{8, 100}), "89");
  for (const ByteRange bad : {ByteRange{10, 11}, ByteRange{3, 3}, ByteRange{5, 3}}) {
    const Error error = failure_of("a", bad);
    EXPECT_EQ(error.kind(), ErrorKind::kInvalid);
    EXPECT_THAT(error.message(), HasSubstr("the object has 10"));
  }
}

TEST_F(FileStoreTest, ListsByPrefixInOrder) {
  EXPECT_THAT(keys(""), ElementsAre()) << "a folder that does not exist yet";
  for (const std::string key : {"b/2", "b/10", "a", "b.x", "c/d/e"}) ASSERT_TRUE(store_->put(key, "x"));
  test::write_text(folder_ / "new/store/b/.10.tmp-0123456789abcdef", "of a put that was killed");
  EXPECT_THAT(keys(""), ElementsAre("a", "b.x", "b/10", "b/2", "c/d/e"));
  EXPECT_THAT(keys("b"), ElementsAre("b.x", "b/10", "b/2"));
  EXPECT_THAT(keys("b/"), ElementsAre("b/10", "b/2"));
  EXPECT_THAT(keys("b/1"), ElementsAre("b/10"));
  EXPECT_THAT(keys("nothing/here"), ElementsAre());
}

TEST_F(FileStoreTest, RemovesAndDoesNotMindIfItIsGone) {
  ASSERT_TRUE(store_->put("a", "x"));
  EXPECT_TRUE(store_->remove("a"));
  EXPECT_TRUE(store_->remove("a"));
  EXPECT_EQ(failure_of("a").kind(), ErrorKind::kNotFound);
}

TEST_F(FileStoreTest, FoldersGoWithTheLastObjectInThem) {
  for (const char* const key : {"a/b/c/x", "a/b/y", "z"}) ASSERT_TRUE(store_->put(key, "x"));
  ASSERT_TRUE(store_->remove("a/b/c/x"));
  EXPECT_THAT(files(), ElementsAre("a", "a/b", "a/b/y", "z"));
  ASSERT_TRUE(store_->remove("a/b/y"));
  ASSERT_TRUE(store_->remove("z"));
  EXPECT_THAT(files(), ElementsAre()) << "but the store itself stays";
  ASSERT_TRUE(store_->put("a/b/y", "x"));
  EXPECT_EQ(read("a/b/y"), "x");
}

// A slow disk syncs for much longer than another process needs to remove an empty folder.
TEST_F(FileStoreTest, AFolderThatGoesWhileAnObjectIsPutIntoItIsMadeAgain) {
  std::jthread remover([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) EXPECT_TRUE(store_->remove("a/b/x"));
  });
  for (int i = 0; i < 20; ++i) {
    const auto put = store_->put("a/b/c" + std::to_string(i) + "/y", "y");
    ASSERT_TRUE(put) << put.error().message();
    MemorySource bytes("z");
    const auto sent = store_->upload("a/b/x", bytes);
    ASSERT_TRUE(sent) << sent.error().message();
    ASSERT_TRUE(store_->remove("a/b/c" + std::to_string(i) + "/y"));
    const auto listed = list_all(*store_, "");
    ASSERT_TRUE(listed) << listed.error().message();
  }
}

TEST_F(FileStoreTest, ALoopOfLinksEndsAList) {
  ASSERT_TRUE(store_->put("a/x", "x"));
  for (const char* const name : {"up", "over"})
    std::filesystem::create_directory_symlink("..", folder_ / "new/store/a" / name);
  EXPECT_THAT(list_all(*store_, "").error().message(), HasSubstr("listing "));
}

TEST_F(FileStoreTest, NamesTheFileThatIsMissing) {
  EXPECT_THAT(failure_of("a/b").message(), HasSubstr((folder_ / "new/store/a/b").string()));
  ASSERT_TRUE(store_->put("a/b", "x"));
  EXPECT_EQ(failure_of("a").kind(), ErrorKind::kNotFound) << "a folder";
  ASSERT_EQ(::mkfifo((folder_ / "new/store/pipe").c_str(), 0600), 0);
  EXPECT_EQ(failure_of("pipe").kind(), ErrorKind::kNotFound) << "and nobody waits for its other end";
}

TEST_F(FileStoreTest, RefusesNamesThatLeadElsewhere) {
  test::write_text(folder_ / "secret", "x");
  for (const std::string key : {"../../secret", "/etc/passwd", ""}) {
    EXPECT_EQ(failure_of(key).kind(), ErrorKind::kInvalid) << key;
    EXPECT_FALSE(store_->put(key, "x"));
    EXPECT_FALSE(store_->remove(key));
    EXPECT_FALSE(store_->head(key));
    EXPECT_EQ(store_->local_path(key), std::nullopt);
  }
  EXPECT_EQ(test::read_text(folder_ / "secret"), "x");
}

TEST_F(FileStoreTest, StopsWhenItIsTold) {
  ASSERT_TRUE(store_->put("a", "x"));
  std::stop_source stop;
  stop.request_stop();
  MemorySink sink;
  EXPECT_EQ(store_->get("a", sink, {.stop = stop.get_token()}).error().kind(), ErrorKind::kCancelled);
}

TEST_F(FileStoreTest, AFileThatIsCutWhileItIsReadIsAnError) {
  class Cutting final : public ObjectSink {
   public:
    explicit Cutting(std::filesystem::path path) : path_(std::move(path)) {}
    Result<void> begin(const ObjectInfo&) override {
      std::filesystem::resize_file(path_, 4);
      return {};
    }
    Result<void> write(std::string_view) override { return {}; }

   private:
    const std::filesystem::path path_;
  };
  ASSERT_TRUE(store_->put("a", "0123456789"));
  Cutting cutting(folder_ / "new/store/a");
  const auto got = store_->get("a", cutting);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), ErrorKind::kCorrupted);
  EXPECT_THAT(got.error().message(), HasSubstr("became shorter while it was read: 4 bytes instead of 10"));
}

TEST_F(FileStoreTest, MemoryIsBoundedOverAllPieces) {
  MemorySink sink(10);
  ASSERT_TRUE(sink.begin({.key = "a"}));
  EXPECT_TRUE(sink.write("012345"));
  EXPECT_FALSE(sink.write("67890"));
  EXPECT_TRUE(sink.write("6789"));
}

TEST_F(FileStoreTest, UploadsPieceByPiece) {
  std::string bytes(2'500'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
  MemorySource source(bytes);
  std::vector<std::uint64_t> stored;
  const auto uploaded =
      store_->upload("a/b", source, {.progress = [&](std::uint64_t now) { stored.push_back(now); }});
  ASSERT_TRUE(uploaded) << uploaded.error().message();
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(*uploaded, (UploadedObject{2'500'000, crc}));
  EXPECT_THAT(stored, ElementsAre(1u << 20, 2u << 20, 2'500'000u));
  EXPECT_EQ(read("a/b"), bytes);
  MemorySource again("again");
  EXPECT_EQ(store_->upload("a/b", again, {.replaces = false}).error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_EQ(store_->upload("../b", again).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(read("a/b"), bytes);
  ASSERT_TRUE(store_->upload("a/b", again));
  EXPECT_EQ(read("a/b"), "again");
  MemorySource nothing("");
  EXPECT_EQ(store_->upload("empty", nothing).value(), (UploadedObject{0, 0}));
  EXPECT_EQ(read("empty"), "");
  EXPECT_THAT(files(), ElementsAre("a", "a/b", "empty"));
}

TEST_F(FileStoreTest, AnUploadOfOtherBytesThanExpectedStoresNothing) {
  MemorySource source("123456789");
  ASSERT_TRUE(store_->upload("good", source, {.crc32c = 0xE3069283}));
  const auto uploaded = store_->upload("bad", source, {.crc32c = 0xE3069284});
  ASSERT_FALSE(uploaded);
  EXPECT_EQ(uploaded.error().kind(), ErrorKind::kCorrupted);
  EXPECT_THAT(uploaded.error().message(), HasSubstr("have the CRC32C e3069283, expected is e3069284"));
  EXPECT_THAT(files(), ElementsAre("good"));
}

TEST_F(FileStoreTest, AnUploadThatFailsOnTheWayLeavesNothing) {
  test::write_text(folder_ / "source", std::string(100, 'x'));
  const UniqueFd fd(::open((folder_ / "source").c_str(), O_RDONLY));
  FileSource too_long(fd.get(), "the source", 101);
  EXPECT_THAT(store_->upload("a", too_long).error().message(), HasSubstr("100 bytes instead of 101"));
  FileSource source(fd.get(), "the source", 100);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(store_->upload("a", source, {.stop = stop.get_token()}).error().kind(), ErrorKind::kCancelled);
  EXPECT_THAT(files(), ElementsAre());
  ASSERT_TRUE(store_->upload("a", source));
  EXPECT_EQ(read("a"), std::string(100, 'x'));
}

TEST_F(FileStoreTest, AFullDiskIsKnownBeforeTheFirstByte) {
  struct Endless final : ObjectSource {
    std::uint64_t size_bytes() const override { return std::uint64_t{1} << 60; }
    Result<void> read(std::uint64_t, std::span<char>) override {
      ADD_FAILURE() << "nothing is read";
      return Error(ErrorKind::kIo, "read");
    }
  } endless;
  const auto uploaded = store_->upload("a", endless);
  ASSERT_FALSE(uploaded);
  EXPECT_THAT(uploaded.error().message(), HasSubstr("making room for the 1152921504606846976 bytes"));
  EXPECT_THAT(files(), ElementsAre());
}

TEST_F(FileStoreTest, TidiesWhatKilledWritersLeft) {
  ASSERT_TRUE(store_->put("a/x", "x"));
  const auto left = [&](const std::string& name) { test::write_text(folder_ / "new/store" / name, "left"); };
  for (const std::string name :
       {"a/.x.tmp-0123456789abcdef", "a/.y.tmp-0123456789abcdef", ".b.tmp-0123456789abcdef",
        "a/.x.tmp-0123456789abcdeg", "a/.x.tmp-123", "a/x.tmp-0123456789abcdef"})
    left(name);
  test::write_text(folder_ / "elsewhere", "x");
  std::filesystem::create_symlink(folder_ / "elsewhere", folder_ / "new/store/a/.l.tmp-0123456789abcdef");
  EXPECT_EQ(store_->abort_stale_uploads("", std::chrono::hours(1)).value(), 0u) << "they are young";
  EXPECT_EQ(store_->abort_stale_uploads("a/x", {}).value(), 1u);
  EXPECT_EQ(store_->abort_stale_uploads("", {}).value(), 2u);
  EXPECT_THAT(files(), ElementsAre("a", "a/.l.tmp-0123456789abcdef", "a/.x.tmp-0123456789abcdeg",
                                   "a/.x.tmp-123", "a/x", "a/x.tmp-0123456789abcdef"));
  EXPECT_EQ(store_->abort_stale_uploads("nothing/here", {}).value(), 0u);
  EXPECT_FALSE(store_->abort_stale_uploads("../", {}));
}

// As if the folder were a file server's and this machine's clock were ahead of the server's, or behind it.
TEST_F(FileStoreTest, TidiesByTheClockThatGivesFilesTheirTimes) {
  ASSERT_TRUE(store_->put("a/x", "x"));
  test::write_text(folder_ / "new/store/a/.x.tmp-0123456789abcdef", "left");
  clock_is_ahead_seconds = 7200;
  EXPECT_EQ(store_->abort_stale_uploads("", std::chrono::hours(1)).value(), 0u);
  clock_is_ahead_seconds = -7200;
  EXPECT_EQ(store_->abort_stale_uploads("", {}).value(), 1u);
  clock_is_ahead_seconds = 0;
  EXPECT_THAT(files(), ElementsAre("a", "a/x"));
}

TEST_F(FileStoreTest, MemoryIsBounded) {
  ASSERT_TRUE(store_->put("a", "0123456789"));
  MemorySink sink(9);
  const auto got = store_->get("a", sink);
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message(), HasSubstr("/new/store/a: the object is longer than the 9 bytes"));
}

}  // namespace
}  // namespace ratoon::objects::file_store_test
