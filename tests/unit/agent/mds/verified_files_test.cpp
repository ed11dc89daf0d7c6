#include "agent/src/mds/shards/verified_files.h"

#include <chrono>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::mds::verified_files_test {
namespace {

constexpr FileIdentity kSettled{.device = 1, .inode = 2, .size_bytes = 3, .changed_nanoseconds = 1};

std::span<const std::byte> bytes_in(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::vector<FileHash> hashes_of(std::string_view text) {
  return {{"md5", hash_of("md5", bytes_in(text)).value()}};
}

// The present content no longer matters: this shows that the file is not read again.
TEST(VerifiedFiles, AreHashedOnce) {
  VerifiedFiles files;
  EXPECT_FALSE(files.check(kSettled, hashes_of("abc"), bytes_in("xyz")));
  EXPECT_FALSE(files.check(kSettled, hashes_of("abc"), bytes_in("xyz"))) << "what failed is not remembered";
  EXPECT_TRUE(files.check(kSettled, hashes_of("abc"), bytes_in("abc")));
  EXPECT_TRUE(files.check(kSettled, hashes_of("abc"), bytes_in("xyz")));
}

TEST(VerifiedFiles, MayHavePassedElsewhere) {
  VerifiedFiles files;
  files.record_verified(kSettled, hashes_of("abc"));
  EXPECT_TRUE(files.check(kSettled, hashes_of("abc"), bytes_in("xyz")));
}

TEST(VerifiedFiles, RememberNothingWhereThereIsNothingToCheck) {
  VerifiedFiles files;
  files.record_verified(kSettled, {});
  EXPECT_TRUE(files.check(kSettled, {}, bytes_in("xyz")));
  EXPECT_EQ(files.count(), 0u);
  files.record_verified(kSettled, hashes_of("abc"));
  EXPECT_EQ(files.count(), 1u);
}

// A cache that is smaller than the data fetches a shard again in each epoch, into a new file.
TEST(VerifiedFiles, NewFilesOfTheSameContentReplaceOldOnes) {
  VerifiedFiles files;
  FileIdentity file = kSettled;
  for (int epoch = 0; epoch < 1000; ++epoch) {
    ++file.inode;
    files.record_verified(file, hashes_of("abc"));
  }
  EXPECT_LE(files.count(), 4u);
  EXPECT_TRUE(files.check(file, hashes_of("abc"), bytes_in("xyz"))) << "the newest one is known";
}

TEST(VerifiedFiles, AnotherHashOrFileIsAnotherMatter) {
  VerifiedFiles files;
  ASSERT_TRUE(files.check(kSettled, hashes_of("abc"), bytes_in("abc")));
  EXPECT_FALSE(files.check(kSettled, hashes_of("xyz"), bytes_in("abc"))) << "the index says another one now";
  for (std::uint64_t FileIdentity::* part :
       {&FileIdentity::device, &FileIdentity::inode, &FileIdentity::size_bytes}) {
    FileIdentity other = kSettled;
    ++(other.*part);
    EXPECT_FALSE(files.check(other, hashes_of("abc"), bytes_in("xyz")));
  }
  for (std::int64_t FileIdentity::* time :
       {&FileIdentity::modified_nanoseconds, &FileIdentity::changed_nanoseconds}) {
    FileIdentity other = kSettled;
    ++(other.*time);
    EXPECT_FALSE(files.check(other, hashes_of("abc"), bytes_in("xyz")));
  }
}

// The file may be written again and have the same times.
TEST(VerifiedFiles, WhatWasWrittenAMomentAgoIsNotRemembered) {
  VerifiedFiles files;
  FileIdentity young = kSettled;
  young.changed_nanoseconds = std::chrono::nanoseconds(std::chrono::hours(24 * 365 * 100)).count();
  EXPECT_TRUE(files.check(young, hashes_of("abc"), bytes_in("abc")));
  EXPECT_FALSE(files.check(young, hashes_of("abc"), bytes_in("xyz")));
}

// As cp --preserve and rsync do.
TEST(FileIdentity, TellsAFileThatWasWrittenAnewWithItsOldTime) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "a", "abc");
  const FileIdentity before = open_file(folder / "a")->identity;
  struct stat facts{};
  ASSERT_EQ(::stat((folder / "a").c_str(), &facts), 0);
  FileIdentity after = before;
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (after == before && std::chrono::steady_clock::now() < end) {  // times of files advance in ticks
    test::write_text(folder / "a", "xyz");
    const timespec times[] = {facts.st_atim, facts.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder / "a").c_str(), times, 0), 0);
    after = open_file(folder / "a")->identity;
  }
  EXPECT_EQ(after.modified_nanoseconds, before.modified_nanoseconds);
  EXPECT_NE(after, before);
}

}  // namespace
}  // namespace ratoon::mds::verified_files_test
