#include <barrier>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ratoon/atomic_directory.h>
#include <ratoon/failure.h>

#include "tests/support/disk_watch.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::atomic_directory_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAre;

class AtomicDirectoryTest : public testing::Test {
 protected:
  // Entries of the folder; a link as "name -> target".
  std::vector<std::string> names(const fs::path& folder) {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder)) {
      std::string name = entry.path().filename();
      if (entry.is_symlink()) name += " -> " + fs::read_symlink(entry.path()).string();
      found.push_back(name);
    }
    return found;
  }
  std::vector<std::string> names() { return names(out_); }
  fs::path save(const AtomicDirectory& saver, const std::string& text) {
    const fs::path directory = saver.prepare();
    EXPECT_TRUE(fs::is_empty(directory));
    test::write_text(directory / "model.pt", text);
    return saver.finalize(directory);
  }
  static std::string text_of(const std::optional<fs::path>& directory) {
    return directory ? test::read_text(*directory / "model.pt") : "nothing";
  }
  template <class Call>
  int exit_code_of(const AtomicDirectory& saver, Call call, const std::string& sentence_part) {
    try {
      static_cast<void>((saver.*call)());
    } catch (const Failure& failure) {
      EXPECT_THAT(failure.what(), HasSubstr(sentence_part));
      return failure.exit_code;
    }
    return 0;
  }
  int exit_code_of_latest(const AtomicDirectory& saver, const std::string& sentence_part) {
    return exit_code_of(saver, &AtomicDirectory::latest, sentence_part);
  }

  test::TemporaryFolder folder_;
  fs::path out_ = folder_ / "runs/out";
};

TEST_F(AtomicDirectoryTest, IsNothingAtFirstAndThenTheLastThatWasFinished) {
  const AtomicDirectory saver(out_);
  EXPECT_EQ(saver.latest(), std::nullopt);
  EXPECT_EQ(save(saver, "one"), out_ / "checkpoint_0");
  EXPECT_EQ(save(saver, "two"), out_ / "checkpoint_1");
  EXPECT_EQ(text_of(saver.latest()), "two");
  EXPECT_EQ(text_of(AtomicDirectory(out_).latest()), "two");
  EXPECT_THAT(names(), UnorderedElementsAre("checkpoint_0", "checkpoint_1", "latest -> checkpoint_1"));
}

TEST_F(AtomicDirectoryTest, WhatWasNotFinishedIsNeverTakenAndGoes) {
  const AtomicDirectory saver(out_);
  test::write_text(saver.prepare() / "half", "x");
  EXPECT_EQ(saver.latest(), std::nullopt);
  save(saver, "one");
  test::write_text(saver.prepare() / "half", "x");
  EXPECT_EQ(text_of(saver.latest()), "one");
  save(saver, "two");
  EXPECT_THAT(names(), UnorderedElementsAre("checkpoint_0", "checkpoint_1", "latest -> checkpoint_1"));
}

TEST_F(AtomicDirectoryTest, KeepsTheNewestOnesOrAll) {
  for (const std::uint64_t keep : {0, 1, 3}) {
    const fs::path out = folder_ / std::to_string(keep);
    const AtomicDirectory saver(out, {.keep = keep});
    for (int i = 0; i < 5; ++i) save(saver, std::to_string(i));
    EXPECT_EQ(names(out).size(), (keep == 0 ? 5 : keep) + 1) << keep;
    EXPECT_EQ(text_of(saver.latest()), "4");
  }
}

// cycling_utils' keep_last=1 removes the only good directory before the next save has begun.
TEST_F(AtomicDirectoryTest, TheOnlyGoodOneIsThereUntilTheNextIsFinished) {
  const AtomicDirectory saver(out_, {.keep = 1});
  save(saver, "one");
  const fs::path next = saver.prepare();
  EXPECT_EQ(text_of(saver.latest()), "one");
  saver.finalize(next);
  EXPECT_THAT(names(), UnorderedElementsAre("checkpoint_1", "latest -> checkpoint_1"));
}

TEST_F(AtomicDirectoryTest, TheFolderCanBeMoved) {
  save(AtomicDirectory(out_), "one");
  fs::rename(out_, folder_ / "moved");
  EXPECT_EQ(text_of(AtomicDirectory(folder_ / "moved").latest()), "one");
  EXPECT_EQ(test::read_text(folder_ / "moved/latest/model.pt"), "one") << "for programs that follow links";
}

TEST_F(AtomicDirectoryTest, FilesOfOthersStay) {
  const AtomicDirectory saver(out_, {.keep = 1});
  for (const char* name : {"checkpoint_", "checkpoint_07", "checkpoint_x", "notes", "other_3"})
    fs::create_directories(out_ / name / "inhabited");
  fs::create_directories(out_ / ".latest.tmp-0123456789abcdef/inhabited");  // no link: none of ours
  test::write_text(out_ / "checkpoint_5", "a file");
  save(saver, "one");
  save(saver, "two");
  EXPECT_TRUE(fs::exists(out_ / "checkpoint_07/inhabited"));
  EXPECT_TRUE(fs::exists(out_ / ".latest.tmp-0123456789abcdef/inhabited"));
  EXPECT_EQ(names().size(), 9u);
}

TEST_F(AtomicDirectoryTest, WhatALinkOfOurNamesLeadsToIsNeitherWrittenNorRemoved) {
  fs::create_directories(folder_ / "elsewhere/inhabited");
  const AtomicDirectory saver(out_, {.keep = 1});
  save(saver, "one");
  for (const char* name : {"checkpoint_1.unfinished", "checkpoint_9.unfinished"})
    fs::create_directory_symlink(folder_ / "elsewhere", out_ / name);
  EXPECT_EQ(exit_code_of(saver, &AtomicDirectory::prepare, "checkpoint_1.unfinished is a link, and links"),
            82);
  fs::remove(out_ / "checkpoint_1.unfinished");
  save(saver, "two");
  EXPECT_EQ(text_of(saver.latest()), "two");
  EXPECT_TRUE(fs::exists(folder_ / "elsewhere/inhabited"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "elsewhere"), {}), 1);
}

TEST_F(AtomicDirectoryTest, ALostLinkIsAnErrorAndNotANewBeginning) {
  const AtomicDirectory saver(out_);
  save(saver, "one");
  save(saver, "two");
  fs::remove(out_ / "latest");
  EXPECT_EQ(exit_code_of_latest(saver, "link the newest directory"), 83);
  EXPECT_THROW(static_cast<void>(saver.prepare()), Failure);
  fs::create_directory_symlink("checkpoint_9", out_ / "latest");
  EXPECT_EQ(exit_code_of_latest(saver, "names 'checkpoint_9', which does not exist"), 83);
}

TEST_F(AtomicDirectoryTest, ALostLinkIsMendedWithTheGreatestNumber) {
  const AtomicDirectory saver(out_, {.keep = 0});
  for (int i = 0; i < 12; ++i) save(saver, std::to_string(i));
  fs::remove(out_ / "latest");
  EXPECT_EQ(exit_code_of(saver, &AtomicDirectory::latest,
                         "(ln -sfn checkpoint_11 " + (out_ / "latest").string() + ")"),
            83);
  EXPECT_EQ(exit_code_of(saver, &AtomicDirectory::prepare, "ln -sfn checkpoint_11 "), 83);
}

// A user who sets the link back has not said that newer directories may be removed.
TEST_F(AtomicDirectoryTest, WhatIsFinishedIsNeverRemovedBecauseTheLinkWasSetBack) {
  const AtomicDirectory saver(out_, {.keep = 0});
  for (const char* text : {"one", "two", "three"}) save(saver, text);
  for (const char* back_to : {"checkpoint_0", "checkpoint_1"}) {
    fs::remove(out_ / "latest");
    fs::create_directory_symlink(back_to, out_ / "latest");
    EXPECT_EQ(text_of(saver.latest()), back_to == std::string("checkpoint_0") ? "one" : "two");
    EXPECT_EQ(
        exit_code_of(saver, &AtomicDirectory::prepare, "checkpoint_2 is newer than " + std::string(back_to)),
        83);
    EXPECT_EQ(names().size(), 4u) << "nothing is removed";
  }
  fs::rename(out_ / "checkpoint_2", folder_ / "put away");
  EXPECT_EQ(save(saver, "again"), out_ / "checkpoint_2") << "as the sentence says";
  EXPECT_EQ(text_of(saver.latest()), "again");
}

TEST_F(AtomicDirectoryTest, OnlyTheOneAfterTheLinkGoesAndOnlyWhereItsSaveWasCutShort) {
  const AtomicDirectory saver(out_, {.keep = 0});
  for (const char* text : {"one", "two", "three"}) save(saver, text);
  fs::remove(out_ / "latest");
  fs::create_directory_symlink("checkpoint_0", out_ / "latest");
  fs::create_directory_symlink("checkpoint_2", out_ / ".latest.tmp-0123456789abcdef");
  EXPECT_EQ(exit_code_of(saver, &AtomicDirectory::prepare, "is newer than checkpoint_0"), 83);
  fs::remove(out_ / "latest");
  fs::create_directory_symlink("checkpoint_1", out_ / "latest");
  EXPECT_EQ(save(saver, "again"), out_ / "checkpoint_2") << "as a crash between name and link leaves it";
  EXPECT_THAT(names(),
              UnorderedElementsAre("checkpoint_0", "checkpoint_1", "checkpoint_2", "latest -> checkpoint_2"));
}

TEST_F(AtomicDirectoryTest, NamesOfSomebodyElseAreRefused) {
  const AtomicDirectory saver(out_);
  test::write_text(out_ / "latest", "mine");
  EXPECT_EQ(exit_code_of_latest(saver, "is no link"), 82);
  fs::remove(out_ / "latest");
  fs::create_symlink("../elsewhere", out_ / "latest");
  EXPECT_EQ(exit_code_of_latest(saver, "names 'elsewhere'"), 82);
  EXPECT_THROW(AtomicDirectory(out_, {.prefix = "a/b"}), std::invalid_argument);
  EXPECT_THROW(AtomicDirectory(out_, {.link = ""}), std::invalid_argument);
  EXPECT_THROW(saver.finalize(out_ / "checkpoint_3"), std::invalid_argument);
}

TEST_F(AtomicDirectoryTest, ReadsWhatCyclingUtilsMadeAndGoesOn) {
  const AtomicDirectoryOptions options{.prefix = "AtomicDirectory_checkpoint_",
                                       .link = "AtomicDirectory.latest_checkpoint"};
  fs::create_directories(out_);
  for (const char* name : {"3", "4_force", "5", "6"}) {
    const fs::path directory = out_ / (options.prefix + name);
    fs::create_directory(directory);
    test::write_text(directory / "model.pt", name);
  }
  // The link as it was named on another machine; a killed process left its temporary link.
  fs::create_symlink("/elsewhere/out/AtomicDirectory_checkpoint_5", out_ / options.link);
  fs::create_symlink("/elsewhere/out/AtomicDirectory_checkpoint_6", out_ / (options.link + "_temp"));
  const AtomicDirectory saver(out_, options);
  EXPECT_EQ(text_of(saver.latest()), "5") << "6 was being written, or is whole: nobody can say";
  EXPECT_EQ(exit_code_of(saver, &AtomicDirectory::prepare, "AtomicDirectory_checkpoint_6 is newer than"), 83);
  fs::remove_all(out_ / "AtomicDirectory_checkpoint_6");
  EXPECT_EQ(save(saver, "ours"), out_ / "AtomicDirectory_checkpoint_6");
  EXPECT_EQ(save(saver, "ours too"), out_ / "AtomicDirectory_checkpoint_7");
  EXPECT_TRUE(fs::exists(out_ / "AtomicDirectory_checkpoint_4_force"));
  EXPECT_FALSE(fs::exists(out_ / "AtomicDirectory_checkpoint_5"));
}

TEST_F(AtomicDirectoryTest, ReadsItsFirstVersionsToo) {
  fs::create_directories(out_ / "CHK2");
  test::write_text(out_ / "CHK2/model.pt", "two");
  fs::create_symlink("out/CHK2/", out_ / "latest_pt");
  const AtomicDirectory saver(out_, {.prefix = "CHK", .link = "latest_pt"});
  EXPECT_EQ(text_of(saver.latest()), "two");
  EXPECT_EQ(save(saver, "three"), out_ / "CHK3");
}

TEST_F(AtomicDirectoryTest, SeveralRanksWriteIntoOne) {
  constexpr std::uint32_t kRanks = 3;
  std::barrier meeting(kRanks);
  std::vector<std::thread> ranks;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      const AtomicDirectory saver(out_,
                                  {.keep = 1, .rank = rank, .barrier = [&] { meeting.arrive_and_wait(); }});
      for (int turn = 0; turn < 20; ++turn) {
        const fs::path directory = saver.prepare();
        const fs::path temporary = directory / (".tmp" + std::to_string(rank));
        test::write_text(temporary, std::to_string(turn));
        fs::rename(temporary, directory / std::to_string(rank));  // while others sync what they find
        EXPECT_EQ(saver.finalize(directory), out_ / ("checkpoint_" + std::to_string(turn)));
        for (std::uint32_t other = 0; other < kRanks; ++other)
          EXPECT_EQ(test::read_text(*saver.latest() / std::to_string(other)), std::to_string(turn));
      }
    });
  }
  for (auto& rank : ranks) rank.join();
  EXPECT_EQ(names().size(), 2u);
}

// Ranks that miss each other at a barrier end with 1000.
class RanksInStep : public AtomicDirectoryTest {
 protected:
  static constexpr std::uint32_t kRanks = 2;
  // The exit code of each rank; 0: it returned.
  std::vector<int> codes_of(const std::function<void(const AtomicDirectory&)>& call) {
    std::vector<int> codes(kRanks, 0);
    std::vector<std::thread> ranks;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      ranks.emplace_back([&, rank] {
        try {
          call(AtomicDirectory(out_, {.rank = rank, .barrier = [this] { meet(); }}));
        } catch (const Failure& failure) {
          codes[rank] = failure.exit_code;
        } catch (const std::exception&) {
          codes[rank] = 1000;
        }
      });
    }
    for (auto& rank : ranks) rank.join();
    return codes;
  }

 private:
  void meet() {
    std::unique_lock lock(mutex_);
    const std::uint64_t turn = arrivals_++ / kRanks;
    met_.notify_all();
    if (!met_.wait_for(lock, std::chrono::seconds(60), [&] { return arrivals_ >= (turn + 1) * kRanks; }))
      throw std::runtime_error("the other rank does not come");
  }
  std::mutex mutex_;
  std::condition_variable met_;
  std::uint64_t arrivals_ = 0;
};

TEST_F(RanksInStep, AllEndWhereRank0CannotMakeTheDirectory) {
  fs::create_directories(out_);
  test::write_text(out_ / "checkpoint_0.unfinished", "a file");
  const auto prepare = [](const AtomicDirectory& saver) { static_cast<void>(saver.prepare()); };
  EXPECT_THAT(codes_of(prepare), ElementsAre(84, 84));
  fs::remove(out_ / "checkpoint_0.unfinished");
  EXPECT_THAT(codes_of(prepare), ElementsAre(0, 0)) << "no rank waits at a barrier of the call before";
}

TEST_F(RanksInStep, AllEndWhereRank0CannotGiveTheName) {
  const auto prepare = [](const AtomicDirectory& saver) { static_cast<void>(saver.prepare()); };
  ASSERT_THAT(codes_of(prepare), ElementsAre(0, 0));
  const fs::path directory = out_ / "checkpoint_0.unfinished";
  test::write_text(out_ / "checkpoint_0", "a file");
  const auto finalize = [&](const AtomicDirectory& saver) { saver.finalize(directory); };
  EXPECT_THAT(codes_of(finalize), ElementsAre(84, 84));
  fs::remove(out_ / "checkpoint_0");
  EXPECT_THAT(codes_of(finalize), ElementsAre(0, 0));
}

TEST_F(AtomicDirectoryTest, AllIsOnTheDiskBeforeItHasItsNameAndThatBeforeItIsLinked) {
  const AtomicDirectory saver(out_);
  save(saver, "one");
  const fs::path directory = saver.prepare();
  fs::create_directory(directory / "shards");
  test::write_text(directory / "shards/a", "12345");
  const test::DiskWatch watch;
  saver.finalize(directory);
  EXPECT_THAT(watch.calls(),
              ElementsAre("sync a, 5 bytes", "sync shards", "sync checkpoint_1.unfinished", "sync out",
                          "rename checkpoint_1.unfinished to checkpoint_1", "sync out",
                          testing::AllOf(StartsWith("rename .latest.tmp-"), testing::EndsWith(" to latest")),
                          "sync out"));
}

TEST_F(AtomicDirectoryTest, WhatCannotBeSyncedIsNotFinished) {
  const AtomicDirectory saver(out_);
  save(saver, "one");
  const fs::path directory = saver.prepare();
  test::write_text(directory / "model.pt", "two");
  {
    const test::DiskWatch watch({.syncs = EIO});
    EXPECT_THROW(saver.finalize(directory), Failure);
  }
  EXPECT_EQ(text_of(saver.latest()), "one");
}

// The process ends at its n-th call that changes names; false: there were fewer calls.
bool save_and_die(const fs::path& out, int calls, int turn) {
  const pid_t child = ::fork();
  if (child == 0) {
    const AtomicDirectory saver(out, {.keep = 1});
    const test::DiskWatch watch({.dies_at_call = calls});
    const fs::path directory = saver.prepare();
    test::write_text(directory / "model.pt", std::to_string(turn));
    saver.finalize(directory);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

TEST_F(AtomicDirectoryTest, KilledAtAnyCallItIsTheLastOrTheNextOne) {
  for (const int finished : {0, 1, 2}) {
    for (int calls = 1;; ++calls) {
      const fs::path out = folder_ / (std::to_string(finished) + "-" + std::to_string(calls));
      for (int i = 0; i < finished; ++i) save(AtomicDirectory(out, {.keep = 1}), std::to_string(i));
      const bool is_killed = save_and_die(out, calls, finished);
      const AtomicDirectory saver(out, {.keep = 1});
      const std::string before = finished == 0 ? "nothing" : std::to_string(finished - 1);
      const std::string found = text_of(saver.latest());
      EXPECT_TRUE(found == std::to_string(finished) || (is_killed && found == before))
          << out << ": " << found;
      save(saver, "the next");
      EXPECT_EQ(text_of(saver.latest()), "the next");
      EXPECT_EQ(names(out).size(), 2u) << "nothing is left";
      if (!is_killed) {
        EXPECT_GE(calls, 6) << "it was killed nowhere";
        break;
      }
    }
  }
}

}  // namespace
}  // namespace ratoon::atomic_directory_test
