// Bytes that come straight from the disk equal the file's bytes at every position, and leave nothing in the
// page cache.
#include <chrono>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/src/checkpoint/disk/real/page_cache.h"
#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::checkpoint::read_directly_test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kBytes = 1'000'003;
// Other work on the machine can move pages out of the cache, or hold them there, at any moment.
constexpr std::chrono::seconds kPageCacheLimit{60};

class ReadDirectlyTest : public testing::Test {
 protected:
  ReadDirectlyTest() {
    std::uint32_t next = 1;
    for (char& byte : text_) byte = static_cast<char>((next = next * 1664525 + 1013904223) >> 24);
    test::write_text(folder_ / "f", text_);
    fd_ = UniqueFd(::open((folder_ / "f").c_str(), O_RDONLY));
    ::fsync(fd_.get());
  }

  std::string read_directly(const ReadFile& file, std::uint64_t at, std::uint64_t count) {
    const ReadBuffer room = ReadBuffer::of(count);
    if (auto read = file.read_directly(at, room, count); !read) return read.error().message();
    return {reinterpret_cast<const char*>(room.bytes().data()), count};
  }

  // Frees the first page of the file in the page cache; nullopt if this kernel cannot say which pages are
  // there. The kernel skips a page that another thread of it uses at this moment, so the call is repeated.
  std::optional<bool> free_first_page() {
    const auto deadline = std::chrono::steady_clock::now() + kPageCacheLimit;
    while (true) {
      ::fsync(fd_.get());
      ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);
      const auto is_there = is_in_page_cache(fd_.get(), 0, kDirectAlignment);
      if (!is_there) return std::nullopt;
      if (!*is_there) return true;
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
  }

  bool can_be_direct() const {
    const UniqueFd direct(::open((folder_ / "f").c_str(), O_RDONLY | O_DIRECT));
    const ReadBuffer room = ReadBuffer::of(kDirectAlignment);
    return direct.is_open() && ::pread(direct.get(), room.bytes().data(), room.bytes().size(), 0) > 0;
  }

  test::TemporaryFolder folder_;
  std::string text_ = std::string(kBytes, '\0');
  UniqueFd fd_;
  std::unique_ptr<RealDisk> disk_ = RealDisk::open_existing_folder(folder_.path()).value();
};

TEST_F(ReadDirectlyTest, TheBytesAreThoseOfTheFile) {
  const auto file = disk_->open("f").value();
  for (const std::uint64_t at : {std::uint64_t{0}, 3 * kDirectAlignment, 243 * kDirectAlignment}) {
    for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{5000}, kDirectAlignment, kBytes - at}) {
      if (at + count > kBytes) continue;
      EXPECT_TRUE(read_directly(*file, at, count) == text_.substr(at, count)) << at << " " << count;
      std::string by_cache(count, '?');
      ASSERT_TRUE(file->read(at + 0, std::as_writable_bytes(std::span(by_cache))));
      EXPECT_TRUE(by_cache == text_.substr(at, count)) << "in the other way afterwards";
    }
  }
}

TEST_F(ReadDirectlyTest, NothingOfThemStaysInTheCache) {
  if (!can_be_direct()) GTEST_SKIP() << "this file system reads by way of the page cache alone";
  const auto is_free = free_first_page();
  if (!is_free) GTEST_SKIP() << "this kernel does not say which pages are in its cache";
  ASSERT_TRUE(*is_free)
      << "the kernel kept the first page for a minute, although each call asked it to free the page";
  const auto file = disk_->open("f").value();
  std::string nothing(1000, '?');
  EXPECT_FALSE(file->read_from_page_cache(0, std::as_writable_bytes(std::span(nothing))));
  EXPECT_TRUE(read_directly(*file, 0, kBytes) == text_);
  EXPECT_FALSE(is_in_page_cache(fd_.get(), 0, kDirectAlignment).value());
}

TEST_F(ReadDirectlyTest, WhatIsRememberedIsReadWithoutTheDisk) {
  const auto file = disk_->open("f").value();
  std::string all(kBytes, '?');
  std::string some(70'001, '?');
  const auto deadline = std::chrono::steady_clock::now() + kPageCacheLimit;
  bool is_read = false;
  while (!is_read && std::chrono::steady_clock::now() < deadline) {
    ASSERT_TRUE(file->read(0, std::as_writable_bytes(std::span(all))));
    is_read = file->read_from_page_cache(12'345, std::as_writable_bytes(std::span(some)));
  }
  if (!is_read) GTEST_SKIP() << "this kernel does not say which pages are in its cache";
  EXPECT_TRUE(some == text_.substr(12'345, some.size()));
  EXPECT_FALSE(file->read_from_page_cache(kBytes - 10, std::as_writable_bytes(std::span(some))))
      << "they end before";
}

TEST_F(ReadDirectlyTest, AFileThatGotShorterIsSaid) {
  const auto file = disk_->open("f").value();
  ASSERT_EQ(file->size().value(), kBytes);
  for (const std::uint64_t left : {10 * kDirectAlignment, 10 * kDirectAlignment - 7, std::uint64_t{0}}) {
    ASSERT_EQ(::truncate((folder_ / "f").c_str(), static_cast<off_t>(left)), 0);
    EXPECT_THAT(read_directly(*file, 8 * kDirectAlignment, 100'000), HasSubstr("f ends at byte ")) << left;
  }
}

}  // namespace
}  // namespace ratoon::checkpoint::read_directly_test
