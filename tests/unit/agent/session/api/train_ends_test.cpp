// The restart of a run that was ended before its time, and of a run with other numerics: files only.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/numerics.h>
#include <ratoon/train.h>

#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/checkpoint/format/sealed_json.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::train_ends_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class TrainEndsTest : public testing::Test {
 protected:
  // Reports that it is finished after this number of steps; 0: never. The number of steps that it made.
  int count(std::uint64_t finish_at, const std::string& reason = "the loss no longer falls") {
    options_.save_folder = folder_.path().string();
    steps_ = 0;
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      std::uint64_t sum = 0;
      session.track("sum", sum);
      for (const std::uint64_t step : session.steps(100)) {
        ++steps_;
        sum += step;
        if (step + 1 == finish_at) session.finish(reason);
      }
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  std::filesystem::path newest_file() {
    std::filesystem::path last;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "run" / "manifests"))
      last = std::max(last, file.path());
    return last;
  }
  checkpoint::Manifest newest() {
    return checkpoint::decode_manifest(test::read_text(newest_file())).value();
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = "", .run_name = "run", .save_every = Every::steps(10), .member = {}};
  std::uint64_t steps_ = 0;
  std::string said_;
};

// The run is at its end, and not complete: the function must return.
TEST_F(TrainEndsTest, AnExitBehindTheLoopIsToldToReturn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  options_.save_folder = folder_.path().string();
  const auto exits = [this] {
    static_cast<void>(train(options_, [](Session& session) {
      std::uint64_t sum = 0;
      session.track("sum", sum);
      for (const std::uint64_t step : session.steps(4)) sum += step;
      std::exit(0);
    }));
  };
  EXPECT_EXIT(
      exits(), testing::ExitedWithCode(82),
      "exit.. was called within the training function at step 4 of 4: return from it, which completes "
      "the run; that step is saved");
}

TEST_F(TrainEndsTest, ARunThatFinishedEarlyIsCompleteWhenItIsStartedAgain) {
  EXPECT_EQ(count(25), 0);
  EXPECT_EQ(steps_, 25u);
  EXPECT_THAT(said_, HasSubstr("finished at step 25: the loss no longer falls\n"));
  EXPECT_EQ(newest().run->early_end,
            (checkpoint::EarlyEnd{.reason = "the loss no longer falls", .until = "100st"}));
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(count(0), 0);
    EXPECT_EQ(steps_, 0u) << "its criterion would have ended it later, or never";
    EXPECT_THAT(said_,
                HasSubstr("finished at step 25: the loss no longer falls; set another end (--max-duration) "
                          "to continue, or --overwrite true to begin again at step 0"));
  }
}

// As on a machine that has no descriptors or processes left for a moment: no job fails for ever because of
// it.
TEST_F(TrainEndsTest, AFolderThatCannotBeLockedNowIsNoMatterOfConfigurationInAJobEither) {
  std::filesystem::create_directories(folder_ / "run" / "lock");  // where its file is to be
  EXPECT_EQ(count(0), 84);
  options_.member.coordinator_url = "http://127.0.0.1:9";
  EXPECT_EQ(count(0), 84) << said_;
}

// No start of this version succeeds: retrying is useless.
TEST_F(TrainEndsTest, ACheckpointOfANewerFormatIsAMatterOfConfiguration) {
  ASSERT_EQ(count(25), 0);
  auto manifest =
      checkpoint::decode_with_checksum(test::read_text(newest_file()), std::size_t{1} << 16).value();
  manifest["format"] = 99;
  test::write_text(newest_file(), checkpoint::encode_with_checksum(manifest));
  EXPECT_EQ(count(0), 82);
  EXPECT_EQ(steps_, 0u);
  EXPECT_THAT(said_, HasSubstr("use the Ratoon that wrote it, found 99"));
}

TEST_F(TrainEndsTest, AnotherEndIsTheWishToGoOn) {
  EXPECT_EQ(count(25), 0);
  options_.max_duration = Until::steps(40);
  EXPECT_EQ(count(0), 0);
  EXPECT_EQ(steps_, 15u);
  EXPECT_THAT(said_, HasSubstr("the run continues to 40st; it earlier had the end 100st and finished at step "
                               "25: the loss no longer falls"));
  EXPECT_EQ(newest().run->early_end, std::nullopt) << "it came to its end";
  options_.max_duration = Until::steps(20);
  EXPECT_EQ(count(0), 0);
  EXPECT_EQ(steps_, 0u);
  EXPECT_THAT(said_, Not(HasSubstr("finished"))) << "its end is behind it, as that of any run";
}

TEST_F(TrainEndsTest, OverwriteBeginsAnew) {
  EXPECT_EQ(count(25), 0);
  options_.overwrite = true;
  EXPECT_EQ(count(30), 0);
  EXPECT_EQ(steps_, 30u);
}

TEST_F(TrainEndsTest, AReasonMayBeAnyBytes) {
  const std::string words = "\xff\"\n" + std::string(1000, '\xfe');
  EXPECT_EQ(count(25, words), 0);
  EXPECT_LE(newest().run->early_end->reason.size(), 3 * checkpoint::kReasonBytesMax);
  EXPECT_EQ(count(0), 0);
  EXPECT_EQ(steps_, 0u);
}

// The fault is the program's, or that of the manifest's writer; the next start shows it to a person.
TEST_F(TrainEndsTest, AReasonMovesNoCursorOfATerminal) {
  const std::string words = "done\x1b[2J\u009b2J\r\nratoon: all is well";
  EXPECT_EQ(count(25, words), 0);
  for (int start = 0; start < 2; ++start) {
    EXPECT_THAT(said_, HasSubstr("finished at step 25: done?[2J?2J?\n  ratoon: all is well"));
    EXPECT_THAT(said_, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\u009b")), Not(HasSubstr("\r"))));
    EXPECT_EQ(newest().run->early_end->reason, words);
    EXPECT_EQ(count(0), 0);
  }
}

// One of the computing libraries; the same for all cases, as in a process.
Numerics computing{.library = "L 1", .device = "cpu", .cpu_capability = "AVX2", .threads = 2};

class TrainNumericsTest : public TrainEndsTest {
 protected:
  TrainNumericsTest() {
    computing.threads = 2;
    attach_numerics({.pin = [] { computing.is_deterministic = true; },
                     .set_threads = [](std::uint32_t count) { computing.threads = count; },
                     .now = [] { return computing; }});
  }
};

TEST_F(TrainNumericsTest, AreInEachCheckpointAndAResumeWithOthersSaysSo) {
  EXPECT_EQ(count(25), 0);
  EXPECT_EQ(newest().run->numerics, computing);
  computing.threads = 4;
  options_.max_duration = Until::steps(40);
  EXPECT_EQ(count(0), 0);
  const std::string sentence = "bits may differ from those of an uninterrupted run: threads 2, now 4\n";
  EXPECT_THAT(said_, HasSubstr(sentence));
  EXPECT_EQ(said_.find(sentence), said_.rfind(sentence)) << "once";
  EXPECT_EQ(newest().run->numerics->threads, 4u);
}

TEST_F(TrainNumericsTest, PinnedTheyAreThoseThatTheRunBeganWith) {
  options_.deterministic = true;
  EXPECT_EQ(count(25), 0);
  EXPECT_TRUE(newest().run->numerics->is_deterministic);
  computing.threads = 4;
  options_.max_duration = Until::steps(40);
  EXPECT_EQ(count(0), 0);
  EXPECT_THAT(said_, Not(HasSubstr("may differ")));
  EXPECT_EQ(newest().run->numerics->threads, 2u);
}

}  // namespace
}  // namespace ratoon::train_ends_test
