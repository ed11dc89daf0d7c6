#include "agent/src/data/order/torch/torch_lists.h"

#include <csignal>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ratoon/failure.h>
#include <ratoon/torch_order.h>

#include "agent/src/data/order/torch/index_list_layout.h"
#include "base/core/unique_fd.h"
#include "tests/support/failing_calls/draw.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::torch_lists_test {
namespace {

namespace fs = std::filesystem;

using test::read_text;
using test::TemporaryFolder;
using test::write_text;
using testing::AllOf;
using testing::HasSubstr;

constexpr TorchRelease kRelease = TorchRelease::kSince2_6;
constexpr std::uint64_t kSize = 50000;  // four blocks

std::vector<std::uint64_t> numbers_of(const IndexList& list) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t place = 0; place < list.size(); ++place) numbers.push_back(list[place]);
  return numbers;
}

std::vector<std::uint64_t> expected(std::uint64_t seed) {
  TorchGenerator generator(seed);
  return numbers_of(torch_randperm(kSize, generator));
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(TorchLists, AreThoseOfRandpermInMemoryAndFromAFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(numbers_of(data::cached_torch_randperm(kSize, 7, kRelease, "")), expected(7));
  EXPECT_EQ(numbers_of(data::cached_torch_randperm(kSize, 7, kRelease, folder.path())), expected(7))
      << "made";
  EXPECT_THAT(files_in(folder.path()), testing::ElementsAre("randperm-50000-seed-7-v1", "randperm.lock"));
  EXPECT_EQ(numbers_of(data::cached_torch_randperm(kSize, 7, kRelease, folder.path())), expected(7))
      << "found";
  EXPECT_EQ(data::cached_torch_randperm(0, 7, kRelease, folder.path()).size(), 0U);
}

TEST(TorchLists, AFileThatIsThereIsNotMadeAgain) {
  const TemporaryFolder folder;
  static_cast<void>(data::cached_torch_randperm(kSize, 7, kRelease, folder.path()));
  const auto made = fs::last_write_time(folder / "randperm-50000-seed-7-v1");
  const IndexList list =
      data::cached_torch_randperm(kSize, 7 + (std::uint64_t{1} << 32), kRelease, folder.path());
  EXPECT_EQ(numbers_of(list), expected(7));
  EXPECT_EQ(fs::last_write_time(folder / "randperm-50000-seed-7-v1"), made) << "only 32 bits of a seed count";
}

TEST(TorchLists, OneOfAKindIsKeptAProcess) {
  const IndexList one = data::cached_torch_randperm(kSize, 7, kRelease, "");
  const IndexList other = data::cached_torch_randperm(kSize, 7, kRelease, "");
  const IndexList another = data::cached_torch_randperm(kSize, 8, kRelease, "");
  EXPECT_EQ(one.identity(), other.identity());
  EXPECT_NE(one.identity(), another.identity());
}

TEST(TorchLists, KeepsTheFilesOfTwoEpochsAndThoseInUseAndSweepsWhatTheDeadLeft) {
  const TemporaryFolder folder;
  write_text(folder / ".randperm-50000-seed-1-v1.tmp-0123456789abcdef", "half a list");
  write_text(folder / "notes", "of someone else");
  std::vector<IndexList> kept;
  const auto make = [&](std::uint64_t seed) {
    kept.push_back(data::cached_torch_randperm(kSize, seed, kRelease, folder.path()));
    fs::last_write_time(folder / ("randperm-50000-seed-" + std::to_string(seed) + "-v1"),
                        fs::file_time_type::clock::now() - std::chrono::seconds(100 - seed));
  };
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) make(seed);
  EXPECT_THAT(files_in(folder.path()),
              testing::ElementsAre("notes", "randperm-50000-seed-1-v1", "randperm-50000-seed-2-v1",
                                   "randperm-50000-seed-3-v1", "randperm-50000-seed-4-v1", "randperm.lock"))
      << "another machine could not read a removed file again";
  EXPECT_EQ(numbers_of(kept[0]), expected(1));
  kept.erase(kept.begin() + 1, kept.end());
  make(5);
  EXPECT_THAT(files_in(folder.path()),
              testing::ElementsAre("notes", "randperm-50000-seed-1-v1", "randperm-50000-seed-4-v1",
                                   "randperm-50000-seed-5-v1", "randperm.lock"));
}

// Damages each byte of the header and the table of checksums, and some of the numbers.
TEST(TorchLists, DamageIsNoticed) {
  const TemporaryFolder folder;
  const fs::path path = folder / "randperm-50000-seed-7-v1";
  static_cast<void>(data::cached_torch_randperm(kSize, 7, kRelease, folder.path()));
  const std::string good = read_text(path);
  for (std::size_t at = 0; at < 80; ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    write_text(path, bad);
    const auto list = numbers_of(data::cached_torch_randperm(kSize, 7, kRelease, folder.path()));
    const bool is_padding = at >= 40 && at < 64;
    ASSERT_EQ(list, expected(7)) << "made anew, byte " << at;
    ASSERT_EQ(read_text(path) == good, !is_padding) << "byte " << at;
  }
  for (const std::string& bad : {good.substr(0, good.size() - 1), good + "x", std::string()}) {
    write_text(path, bad);
    EXPECT_EQ(numbers_of(data::cached_torch_randperm(kSize, 7, kRelease, folder.path())), expected(7));
    EXPECT_EQ(read_text(path), good) << "made anew";
  }
}

TEST(TorchLists, ADamagedNumberEndsTheProcessOnceAndNeverTrains) {
  const TemporaryFolder folder;
  const fs::path path = folder / "randperm-50000-seed-7-v1";
  static_cast<void>(data::cached_torch_randperm(kSize, 7, kRelease, folder.path()));
  std::string bad = read_text(path);
  bad[4096 + 2 * data::IndexListLayout::kBlockBytes + 5] ^= 1;
  write_text(path, bad);
  const IndexList list = data::cached_torch_randperm(kSize, 7, kRelease, folder.path());
  EXPECT_EQ(list[0], expected(7)[0]) << "other blocks are good";
  try {
    static_cast<void>(list[2 * data::IndexListLayout::kBlockBytes / 4 + 100]);
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, 81) << "start me again";
    EXPECT_THAT(failure.what(), AllOf(HasSubstr(path.string()), HasSubstr("block 2 has the CRC32C"),
                                      HasSubstr("expected"), HasSubstr("removed")));
  }
  EXPECT_FALSE(fs::exists(path));
}

// The next start would find the same damage.
TEST(TorchLists, ADamagedFileThatStaysIsSaid) {
  const TemporaryFolder folder;
  const fs::path path = folder / "randperm-50000-seed-7-v1";
  static_cast<void>(data::cached_torch_randperm(kSize, 7, kRelease, folder.path()));
  std::string bad = read_text(path);
  bad.back() ^= 1;
  write_text(path, bad);
  const IndexList list = data::cached_torch_randperm(kSize, 7, kRelease, folder.path());
  const test::failing::Fault fault(test::failing::Call::kUnlink, EROFS);
  try {
    static_cast<void>(list[kSize - 1]);
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, 84) << failure.what();
    EXPECT_THAT(failure.what(), AllOf(HasSubstr(path.string()), HasSubstr("Read-only file system"),
                                      HasSubstr("Remove the file")));
  }
}

// A program that writes the file can write correct checksums.
TEST(TorchLists, NumbersThatNameNoSampleAreRefused) {
  const data::IndexListLayout image({.size = 100, .seed = 1, .uses_inside_out_shuffle = false});
  std::vector<std::byte> bytes(image.bytes());
  std::span<std::byte> all(bytes);
  image.numbers_in(all)[4 * 50] = std::byte{100};
  image.write_header_and_checksums(all);
  EXPECT_TRUE(image.check_header(all));
  EXPECT_THAT(image.check_block(all, 0).error().message(), HasSubstr("a number that is not below 100"));
}

TEST(TorchLists, AFolderThatCannotBeWrittenCostsTimeOnly) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "randperm-50000-seed-7-v1");  // in the way of the file
  EXPECT_EQ(numbers_of(data::cached_torch_randperm(kSize, 7, kRelease, folder.path())), expected(7));
}

TEST(TorchLists, WhoDoesNotHoldTheLockWritesNothing) {
  const TemporaryFolder folder;
  const UniqueFd lock(::open((folder / "randperm.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  write_text(folder / ".randperm-50000-seed-7-v1.tmp-0123456789abcdef", "what its holder writes now");
  EXPECT_EQ(numbers_of(data::cached_torch_randperm(kSize, 7, kRelease, folder.path())), expected(7));
  EXPECT_THAT(files_in(folder.path()),
              testing::ElementsAre(".randperm-50000-seed-7-v1.tmp-0123456789abcdef", "randperm.lock"));
}

TEST(TorchLists, AListInMemoryIsStillLeftInTheFolderOfWhoeverNamesOne) {
  const TemporaryFolder folder;
  const IndexList in_memory = data::cached_torch_randperm(kSize, 7, kRelease, "");
  const IndexList in_folder = data::cached_torch_randperm(kSize, 7, kRelease, folder.path());
  EXPECT_NE(in_memory.identity(), in_folder.identity());
  EXPECT_TRUE(fs::exists(folder / "randperm-50000-seed-7-v1"));
}

TEST(TorchLists, TakesEightBytesANumberWhereFourAreTooFew) {
  const auto image = [](std::uint64_t size) { return data::IndexListLayout({.size = size}); };
  EXPECT_EQ(image((std::uint64_t{1} << 32) - 1).bytes_per_number(), 4U);
  EXPECT_EQ(image(std::uint64_t{1} << 32).bytes_per_number(), 8U);
  EXPECT_GT(image(std::uint64_t{1} << 32).bytes(), std::uint64_t{8} << 32);
  EXPECT_EQ(image(std::uint64_t{1} << 32).block_of(8192), 1U);
}

TEST(TorchLists, KnowThePlaceOfEachNumber) {
  const TemporaryFolder folder;
  const auto right = expected(7);
  for (const std::string& where : {std::string(), folder.path().string(), folder.path().string()}) {
    const IndexList list = data::cached_torch_randperm(kSize, 7, kRelease, where);
    for (std::uint64_t place = 0; place < kSize; ++place) ASSERT_EQ(list.place_of(right[place]), place);
  }
}

TEST(TorchLists, NoPlaceIsSaidFromADamagedFile) {
  const TemporaryFolder folder;
  const fs::path path = folder / "randperm-50000-seed-7-v1";
  static_cast<void>(data::cached_torch_randperm(kSize, 7, kRelease, folder.path()));
  std::string bad = read_text(path);
  bad.back() ^= 1;
  write_text(path, bad);
  const IndexList list = data::cached_torch_randperm(kSize, 7, kRelease, folder.path());
  const std::uint64_t first = list[0];
  EXPECT_THROW(static_cast<void>(list.place_of(first)), Failure) << "which block holds it is not known";
  EXPECT_FALSE(fs::exists(path));
}

TEST(TorchLists, ThreadsAskForPlacesTogether) {
  const auto right = expected(7);
  const IndexList list = data::cached_torch_randperm(kSize, 7, kRelease, "");
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      for (std::uint64_t place = i; place < kSize; place += 4)
        wrong[i] += list.place_of(right[place]) != place ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

TEST(TorchLists, AMissingFolderIsSaid) {
  const TemporaryFolder volume;
  const auto ask = [](const fs::path& folder, int exit_code, const std::string& words) {
    try {
      static_cast<void>(data::cached_torch_randperm(kSize, 7, kRelease, folder));
      FAIL() << folder;
    } catch (const Failure& failure) {
      EXPECT_THAT(failure.what(), AllOf(HasSubstr(folder.string()), HasSubstr(words)));
      EXPECT_EQ(failure.exit_code, exit_code) << failure.what();
    }
  };
  ask("/nowhere/at all", 82, "does not exist");
  ask(volume / "lists", 84, "mounted");  // an empty folder may be where a volume is mounted later
  write_text(volume / "file", "");
  ask(volume / "lists", 82, "does not exist");
  ask(volume / "file", 82, "is not a folder");
}

// Processes that begin together: one writes, and all have the right list. Some of them are killed meanwhile.
TEST(TorchLists, ProcessesShareAFolder) {
  const TemporaryFolder folder;
  for (std::uint64_t round = 0; round < 20; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        bool is_right = false;
        try {
          is_right = numbers_of(data::cached_torch_randperm(kSize, round, kRelease, folder.path())) ==
                     expected(round);
        } catch (const std::exception&) {
        }
        ::_exit(is_right ? 0 : 1);
      }
      children.push_back(child);
    }
    ::kill(children[round % 4], SIGKILL);
    for (std::size_t i = 0; i < children.size(); ++i) {
      int status = 0;
      ASSERT_EQ(::waitpid(children[i], &status, 0), children[i]);
      const bool was_killed = WIFSIGNALED(status) && i == round % 4;
      EXPECT_TRUE(was_killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << round;
    }
    EXPECT_EQ(numbers_of(data::cached_torch_randperm(kSize, round, kRelease, folder.path())),
              expected(round));
  }
}

TEST(TorchLists, ThreadsShareAList) {
  const TemporaryFolder folder;
  static_cast<void>(data::cached_torch_randperm(kSize, 7, kRelease, folder.path()));
  const auto right = expected(7);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      const IndexList list = data::cached_torch_randperm(kSize, 7, kRelease, folder.path());
      for (std::uint64_t place = 0; place < kSize; ++place) wrong[i] += list[place] != right[place] ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

TEST(TorchLists, ASamplerCanKeepItsListsAsFiles) {
  const TemporaryFolder folder;
  DistributedSampler plain({.samples = kSize, .world_size = 2, .rank = 1, .seed = 3});
  DistributedSampler kept(
      {.samples = kSize, .world_size = 2, .rank = 1, .seed = 3, .list_folder = folder.path().string()});
  for (const std::uint64_t epoch : {0U, 1U}) {
    plain.set_epoch(epoch);
    kept.set_epoch(epoch);
    EXPECT_EQ(plain.fetch(kSize), kept.fetch(kSize));
  }
  EXPECT_TRUE(fs::exists(folder / "randperm-50000-seed-4-v1")) << "seed + epoch";
}

}  // namespace
}  // namespace ratoon::torch_lists_test
