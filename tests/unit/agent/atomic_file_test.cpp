#include <atomic>
#include <cerrno>
#include <csignal>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ratoon/atomic_file.h>

#include "base/core/durable_folder.h"
#include "tests/support/disk_watch.h"
#include "tests/support/other_user.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::atomic_file_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::StartsWith;

class AtomicFileTest : public testing::Test {
 protected:
  std::vector<std::string> names() {
    std::vector<std::string> found;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path()))
      found.push_back(file.path().filename());
    return found;
  }
  using Names = std::vector<std::string>;
  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "file";
};

TEST_F(AtomicFileTest, WritesAndReplacesAndLeavesNothingElse) {
  ASSERT_TRUE(save_file_atomically(path_, "old and longer"));
  EXPECT_EQ(test::read_text(path_), "old and longer");
  ASSERT_TRUE(save_file_atomically(path_, "new"));
  EXPECT_EQ(test::read_text(path_), "new");
  ASSERT_TRUE(save_file_atomically(path_, ""));
  EXPECT_EQ(test::read_text(path_), "");
  EXPECT_EQ(names(), Names({"file"}));
}

TEST_F(AtomicFileTest, WritesEveryByte) {
  std::string bytes(3'000'001, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  ASSERT_TRUE(save_file_atomically(path_, std::as_bytes(std::span(bytes))));
  EXPECT_EQ(test::read_text(path_), bytes);
}

TEST_F(AtomicFileTest, DoesNotReplaceWhenToldSo) {
  ASSERT_TRUE(save_file_atomically(path_, "first", {.replaces = false}));
  const auto second = save_file_atomically(path_, "second", {.replaces = false});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_EQ(test::read_text(path_), "first");
  EXPECT_EQ(names(), Names({"file"}));
}

TEST_F(AtomicFileTest, IsOnTheDiskBeforeItHasItsNameAndItsNameBeforeItIsDone) {
  const std::string folder = "sync " + folder_.path().filename().string();
  const auto temporary = [](const std::string& doing, const std::string& end) {
    return AllOf(StartsWith(doing + " .file.tmp-"), EndsWith(end));
  };
  {
    const test::DiskWatch watch;
    ASSERT_TRUE(save_file_atomically(path_, "12 and more."));
    EXPECT_THAT(watch.calls(),
                ElementsAre(temporary("sync", ", 12 bytes"), temporary("rename", " to file"), folder));
  }
  const test::DiskWatch watch;
  ASSERT_TRUE(save_file_atomically(folder_ / "new", "", {.replaces = false}));
  EXPECT_THAT(watch.calls(), ElementsAre(StartsWith("sync .new.tmp-"), EndsWith(" to new"), folder));
}

// The file's pages count as clean from then on, although they may be lost.
TEST_F(AtomicFileTest, AFailedSyncIsFinal) {
  ASSERT_TRUE(save_file_atomically(path_, "old"));
  const test::DiskWatch watch({.syncs = EIO});
  const auto saved = save_file_atomically(path_, "new");
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error().message(), StartsWith("syncing "));
  EXPECT_EQ(watch.calls().size(), 1u);
  EXPECT_EQ(test::read_text(path_), "old");
  EXPECT_EQ(names(), Names({"file"}));
}

TEST_F(AtomicFileTest, EachNewFolderIsOnTheDiskBeforeOneIsMadeInIt) {
  const test::DiskWatch watch;
  ASSERT_TRUE(create_folders(folder_ / "a/b"));
  EXPECT_THAT(watch.calls(), ElementsAre("sync " + folder_.path().filename().string(), "sync a"));
}

TEST_F(AtomicFileTest, HasTheModeThatWasAskedForLessTheUmask) {
  const mode_t before = ::umask(0027);
  ASSERT_TRUE(save_file_atomically(folder_ / "a", ""));
  ASSERT_TRUE(save_file_atomically(folder_ / "b", "", {.mode = 0600}));
  ::umask(before);
  struct stat info{};
  ASSERT_EQ(::stat((folder_ / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0640u);
  ASSERT_EQ(::stat((folder_ / "b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600u);
}

TEST_F(AtomicFileTest, AMissingFolderIsAnErrorAndIsNotMade) {
  const auto saved = save_file_atomically(folder_ / "missing" / "file", "x");
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(names(), Names());
}

TEST_F(AtomicFileTest, AFailedReplacementLeavesTheOldAndNoTemporaryFile) {
  std::filesystem::create_directories(path_ / "inhabited");
  EXPECT_FALSE(save_file_atomically(path_, "x"));
  EXPECT_TRUE(std::filesystem::is_directory(path_));
  EXPECT_EQ(names(), Names({"file"}));
}

TEST_F(AtomicFileTest, AReadOnlyFolderIsPermissionDenied) {
  std::optional<test::OtherUser> another;
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(folder_.path().c_str(), test::OtherUser::kUser, gid_t(-1)), 0);
    another.emplace();
  }
  ASSERT_TRUE(save_file_atomically(path_, "old")) << "this user may write here";
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0500), 0);
  const auto saved = save_file_atomically(path_, "new");
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0700), 0);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().kind(), ErrorKind::kPermissionDenied);
  EXPECT_EQ(test::read_text(path_), "old");
}

TEST_F(AtomicFileTest, ANameThatNoFolderTakesIsRefusedAndNothingIsLeft) {
  const auto saved = save_file_atomically(folder_ / std::string(300, 'n'), "x");
  ASSERT_FALSE(saved);
  EXPECT_EQ(names(), Names());
}

TEST_F(AtomicFileTest, ANameWithoutAFolderIsBesideUs) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  const auto saved = save_file_atomically("plain", "x");
  std::filesystem::current_path(before);
  EXPECT_TRUE(saved);
  EXPECT_EQ(names(), Names({"plain"}));
}

TEST_F(AtomicFileTest, BytesThatComeInPiecesAreOneFile) {
  const auto saved = save_file_atomically(path_, [](const AppendBytes& append) {
    for (int i = 0; i < 1000; ++i) {
      const std::string piece(static_cast<std::size_t>(i), static_cast<char>('a' + i % 26));
      if (auto appended = append(std::as_bytes(std::span(piece))); !appended) return appended;
    }
    return Result<void>();
  });
  ASSERT_TRUE(saved) << saved.error().message();
  const std::string text = test::read_text(path_);
  ASSERT_EQ(text.size(), 1000u * 999 / 2);
  EXPECT_THAT(text, StartsWith("bccddd"));
  EXPECT_EQ(names(), Names({"file"}));
}

TEST_F(AtomicFileTest, WhereThePiecesEndInAnErrorTheOldFileStands) {
  ASSERT_TRUE(save_file_atomically(path_, "old"));
  const auto saved = save_file_atomically(path_, [](const AppendBytes& append) -> Result<void> {
    if (auto appended = append({}); !appended) return appended;
    return Error(ErrorKind::kUnavailable, "the source is gone");
  });
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().message(), "the source is gone");
  EXPECT_EQ(test::read_text(path_), "old");
  EXPECT_EQ(names(), Names({"file"}));
}

TEST_F(AtomicFileTest, WhatTheCallerThrowsLeavesTheOldFileAndNothingElse) {
  ASSERT_TRUE(save_file_atomically(path_, "old"));
  const auto write = [](const AppendBytes&) -> Result<void> { throw std::runtime_error("mine"); };
  EXPECT_THROW(static_cast<void>(save_file_atomically(path_, write)), std::runtime_error);
  EXPECT_EQ(test::read_text(path_), "old");
  EXPECT_EQ(names(), Names({"file"}));
}

// A child that is killed while it writes, as a trainer on a machine that fails.
pid_t die_while_writing(const std::filesystem::path& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(save_file_atomically(path, [](const AppendBytes&) -> Result<void> {
      ::kill(::getpid(), SIGKILL);
      return {};
    }));
    ::_exit(1);
  }
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST_F(AtomicFileTest, WhatKilledWritersOfAPathLeftIsSweptAndNothingElse) {
  die_while_writing(path_);
  die_while_writing(folder_ / "other");
  test::write_text(folder_ / ".file.tmp-mine", "a name of the user");
  ASSERT_EQ(names().size(), 3u);
  sweep_temporary_files(path_);
  EXPECT_THAT(names(), testing::UnorderedElementsAre(".file.tmp-mine", StartsWith(".other.tmp-")));
  sweep_temporary_files(folder_ / "missing" / "file");
}

TEST_F(AtomicFileTest, AWriterThatLivesKeepsItsTemporaryFile) {
  const auto saved = save_file_atomically(path_, [&](const AppendBytes&) {
    sweep_temporary_files(path_);
    EXPECT_THAT(names(), ElementsAre(StartsWith(".file.tmp-")));
    return Result<void>();
  });
  EXPECT_TRUE(saved) << saved.error().message();
  EXPECT_EQ(names(), Names({"file"}));
}

// The kill may also come between a file's creation and its lock, or between its last byte and its name.
TEST_F(AtomicFileTest, SweepsBesideManyWritersLoseNothing) {
  std::atomic<bool> is_over = false;
  const auto sweep = [&] {
    while (!is_over) sweep_temporary_files(path_);
  };
  std::thread sweeper(sweep);
  std::thread another(sweep);
  for (int i = 0; i < 100; ++i) {
    const auto saved = save_file_atomically(path_, std::to_string(i));
    EXPECT_TRUE(saved) << saved.error().message();
    if (!saved) break;
  }
  is_over = true;
  sweeper.join();
  another.join();
  EXPECT_EQ(test::read_text(path_), "99");
}

}  // namespace
}  // namespace ratoon::atomic_file_test
