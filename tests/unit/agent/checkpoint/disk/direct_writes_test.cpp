// Files written past the page cache equal files written through it, and the fallback is not visible.
#include "agent/src/checkpoint/disk/real/direct_writes.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/disk/real/real_write_file.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::checkpoint::direct_writes_test {
namespace {

constexpr std::size_t kBytes = 16 * kDirectAlignment;

struct Calls {
  int direct = 0;
  int cached = 0;
  int refused_with = 0;  // of the next direct one
  std::size_t bytes_max = ~std::size_t{0};
};
Calls calls;

ssize_t write_and_count(int fd, const void* bytes, std::size_t size, off_t at) {
  const bool is_direct = (::fcntl(fd, F_GETFL) & O_DIRECT) != 0;
  ++(is_direct ? calls.direct : calls.cached);
  if (is_direct && calls.refused_with != 0) {
    errno = std::exchange(calls.refused_with, 0);
    return -1;
  }
  return ::pwrite(fd, bytes, std::min(size, calls.bytes_max), at);
}

// Memory that begins on a page.
class Bytes {
 public:
  Bytes() : memory_(kBytes + 2 * kDirectAlignment) {
    std::uint64_t mark = 1;
    for (std::size_t i = 0; i + 8 <= memory_.size(); i += 8) {
      mark = mark * 6364136223846793005 + 1442695040888963407;
      std::memcpy(&memory_[i], &mark, 8);
    }
    const auto first = reinterpret_cast<std::uintptr_t>(memory_.data()) % kDirectAlignment;
    page_ = std::span(memory_).subspan(kDirectAlignment - first);
  }
  [[nodiscard]] std::span<const std::byte> of(std::size_t begin, std::size_t size) const {
    return page_.subspan(begin, size);
  }

 private:
  std::vector<std::byte> memory_;
  std::span<const std::byte> page_;
};

UniqueFd open_folder(const std::filesystem::path& folder) {
  return UniqueFd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

class DirectWritesTest : public testing::Test {
 protected:
  DirectWritesTest() { calls = {}; }

  // The file is treated as a large one, though few bytes are written.
  std::unique_ptr<WriteFile> create_large(const std::string& name) {
    UniqueFd fd(::open((folder_ / name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    auto file = make_write_file(std::move(fd), name, direct_, {.write = &write_and_count});
    EXPECT_TRUE(file->reserve(kDirectFileBytesMin));
    return file;
  }
  // The disk of these tests may be in memory, or may not support direct writes.
  [[nodiscard]] bool takes_direct_writes() const {
    return UniqueFd(::open((folder_ / "some").c_str(), O_WRONLY | O_CREAT | O_DIRECT | O_CLOEXEC, 0600))
        .is_open();
  }
  // The content of the file, of which `bytes` are expected at `at`.
  void expect_file(const std::string& name, std::size_t at, std::span<const std::byte> bytes) {
    const auto disk = RealDisk::open_existing_folder(folder_.path()).value();
    const std::string text = read_whole_file(*disk, name, at + bytes.size()).value();
    ASSERT_EQ(text.size(), at + bytes.size());
    EXPECT_EQ(std::memcmp(text.data() + at, bytes.data(), bytes.size()), 0);
  }

  const Bytes bytes_;
  const test::TemporaryFolder folder_;
  const std::shared_ptr<DirectWrites> direct_ =
      std::make_shared<DirectWrites>(open_folder(folder_.path()), true);
};

TEST_F(DirectWritesTest, AreTakenWhereTheyAreNoSlower) {
  EXPECT_TRUE(is_direct_write_worthwhile({.direct_seconds = 1, .cached_seconds = 2}));
  EXPECT_TRUE(is_direct_write_worthwhile({.direct_seconds = 1, .cached_seconds = 1}));
  EXPECT_FALSE(is_direct_write_worthwhile({.direct_seconds = 2, .cached_seconds = 1}));
}

TEST_F(DirectWritesTest, AreNotTakenInMemory) {
  const std::filesystem::path memory = "/dev/shm";
  if (!std::filesystem::exists(memory)) GTEST_SKIP() << "there is no memory file system";
  EXPECT_FALSE(DirectWrites(open_folder(memory)).are_worthwhile());
}

TEST_F(DirectWritesTest, LeaveNothingBehindWhenTheyAreTriedOut) {
  static_cast<void>(DirectWrites(open_folder(folder_.path())).are_worthwhile());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(DirectWritesTest, MakeTheSameFile) {
  for (const std::size_t at : {0, 4096, 511}) {
    for (const std::size_t begin : {0, 512, 1}) {
      for (const std::size_t size : {kBytes, kBytes - 1, kBytes - kDirectAlignment + 1, std::size_t{4095}}) {
        const auto file = create_large("file");
        ASSERT_TRUE(file->write(at, bytes_.of(begin, size)));
        ASSERT_TRUE(file->sync());
        ASSERT_TRUE(file->close());
        expect_file("file", at, bytes_.of(begin, size));
        std::filesystem::remove(folder_ / "file");
      }
    }
  }
}

TEST_F(DirectWritesTest, AreMadeOfWhatLiesRight) {
  if (!takes_direct_writes()) GTEST_SKIP() << "this file system knows no O_DIRECT";
  const auto file = create_large("file");
  ASSERT_TRUE(file->write(kDirectAlignment, bytes_.of(0, kBytes - 1)));
  EXPECT_EQ(calls.direct, 1);
  EXPECT_EQ(calls.cached, 1);  // the tail
  ASSERT_TRUE(file->write(0, bytes_.of(0, kDirectAlignment)));
  EXPECT_EQ(calls.direct, 2);
  ASSERT_TRUE(file->write(0, bytes_.of(8, kDirectAlignment)));
  EXPECT_EQ(calls.direct, 2);
}

TEST_F(DirectWritesTest, GoOnAfterAShortOne) {
  calls.bytes_max = 5000;
  const auto file = create_large("file");
  ASSERT_TRUE(file->write(0, bytes_.of(0, kBytes - 1)));
  expect_file("file", 0, bytes_.of(0, kBytes - 1));
}

TEST_F(DirectWritesTest, AreGivenUpWhereOneIsRefused) {
  if (!takes_direct_writes()) GTEST_SKIP() << "this file system knows no O_DIRECT";
  calls.refused_with = EINVAL;
  const auto file = create_large("file");
  ASSERT_TRUE(file->write(0, bytes_.of(0, kBytes)));
  EXPECT_EQ(calls.direct, 1);
  EXPECT_EQ(calls.cached, 1);
  expect_file("file", 0, bytes_.of(0, kBytes));
  EXPECT_FALSE(direct_->are_worthwhile());  // nor tried with the next file
}

TEST_F(DirectWritesTest, SayWhatTheDiskSays) {
  if (!takes_direct_writes()) GTEST_SKIP() << "this file system knows no O_DIRECT";
  calls.refused_with = ENOSPC;
  const auto full = create_large("full")->write(0, bytes_.of(0, kBytes));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind(), ErrorKind::kNoSpace);
  calls.refused_with = EIO;
  const auto bad = create_large("bad")->write(0, bytes_.of(0, kBytes));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind(), ErrorKind::kIo);
  EXPECT_EQ(calls.cached, 0);
  EXPECT_TRUE(direct_->are_worthwhile());
}

TEST_F(DirectWritesTest, AreNotForSmallFiles) {
  UniqueFd fd(::open((folder_ / "small").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const auto file = make_write_file(std::move(fd), "small", direct_, {.write = &write_and_count});
  ASSERT_TRUE(file->reserve(kBytes));
  ASSERT_TRUE(file->write(0, bytes_.of(0, kBytes)));
  EXPECT_EQ(calls.direct, 0);
}

}  // namespace
}  // namespace ratoon::checkpoint::direct_writes_test
