// --resume-from and --skip from end to end in one process, alone: the trained samples, the files on the disk,
// and that the rollback is made once.
#include <map>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/stream.h>
#include <ratoon/train.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/format/manifest.h"
#include "agent/src/history/history_file.h"
#include "agent/src/history/join.h"
#include "agent/src/session/engine/engine.h"
#include "base/core/random_name.h"
#include "tests/support/borrowed.h"
#include "tests/support/quiet_link.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::train_rollback_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint64_t kBatch = 4;
constexpr std::uint64_t kNever = ~0ULL;
const StreamOptions kData{.samples = 1000, .global_batch = kBatch, .seed = 3, .source = "thousand"};

class TrainRollbackTest : public testing::Test {
 protected:
  // Trains `total` steps; the step with that number throws.
  int train(std::uint64_t total, std::uint64_t throws_before = kNever) {
    return run(Until::steps(total), throws_before, 1);
  }
  int run(Until until, std::uint64_t throws_before, int streams) {
    options_.save_folder = folder_.path().string();
    began_ = kNever;
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      Stream stream(kData);
      Stream other(kData);
      if (streams > 0) session.track("stream", stream);
      if (streams > 1) session.track("other", other);
      if (streams > 0) session.follow(stream);
      for (const std::uint64_t step : session.steps(until)) {
        if (began_ == kNever) began_ = step;
        if (step == throws_before) throw std::runtime_error("killed");
        stream.advance();
        session.report("cursor", static_cast<double>(stream.cursor()));
      }
      digest_ = stream.digest();
      batches_ = stream.batches();
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  void go_back(std::uint64_t step, std::uint64_t skip = 0) {
    options_.resume_from = step;
    options_.skip = skip;
  }
  void wish_nothing() {
    options_.resume_from.reset();
    options_.skip = 0;
  }
  std::vector<std::string> names(const std::string& kind) {
    std::vector<std::string> found;
    if (!std::filesystem::exists(folder_ / "run" / kind)) return found;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "run" / kind))
      found.push_back(file.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }
  // The rows of the whole history, as its newest manifest has it.
  std::vector<history::Row> rows(const std::string& newest) {
    const auto manifest =
        checkpoint::decode_manifest(test::read_text(folder_ / "run/manifests" / newest)).value();
    const auto disk = checkpoint::RealDisk::open_folder(folder_ / "run").value();
    std::vector<history::Row> found;
    const auto joined = history::join(
        {.attempt = Attempt(manifest.run->history_attempt), .bytes = manifest.run->history_bytes},
        [&](Attempt attempt) { return history::read_file(*disk, attempt); },
        [&](Attempt, const history::Row& row) {
          if (row.kind != "ledger") found.push_back(row);
        });
    EXPECT_TRUE(joined) << joined.error().message();
    return found;
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = "", .run_name = "run", .save_every = Every::steps(10), .keep_last = 20};
  std::string said_;
  std::uint64_t began_ = kNever;
  std::uint64_t digest_ = 0;
  std::uint64_t batches_ = 0;
};

// The samples of `before` batches, then a number of slots that are never taken, then more up to `total`
// batches.
std::uint64_t digest_of(std::uint64_t before, std::uint64_t skipped, std::uint64_t total) {
  Stream stream(kData);
  stream.advance(before);
  if (skipped != 0) stream.skip_to(stream.cursor() + skipped);
  stream.advance(total - before);
  return stream.digest();
}

TEST_F(TrainRollbackTest, GoesBackPassesOverAndSetsAside) {
  ASSERT_EQ(train(50), 0);
  go_back(20, 14);
  ASSERT_EQ(train(60), 0) << said_;
  EXPECT_EQ(began_, 20u);
  EXPECT_EQ(batches_, 60u);
  EXPECT_EQ(digest_, digest_of(20, 14, 60));
  EXPECT_THAT(said_, HasSubstr("the run goes back to step 20 (--resume-from), and skips samples 80 to 93 of "
                               "its stream (--skip); later checkpoints are in aside/"));
  EXPECT_THAT(names("manifests"),
              ElementsAre("s0000000010.a0001.json", "s0000000020.a0001.json", "s0000000030.a0002.json",
                          "s0000000040.a0002.json", "s0000000050.a0002.json", "s0000000060.a0002.json"));
  EXPECT_THAT(names("aside"),
              ElementsAre("s0000000030.a0001.json", "s0000000040.a0001.json", "s0000000050.a0001.json"));
  EXPECT_THAT(names("packs/a0001"), Contains("s0000000050")) << "nothing is deleted";
  EXPECT_THAT(names("rollbacks"), ElementsAre("a0002.json"));
}

TEST_F(TrainRollbackTest, WithoutASkipItIsTheSameRunOnceMore) {
  ASSERT_EQ(train(50), 0);
  const std::uint64_t unbroken = digest_;
  go_back(20);
  ASSERT_EQ(train(50), 0) << said_;
  EXPECT_EQ(began_, 20u);
  EXPECT_EQ(digest_, unbroken);
}

TEST_F(TrainRollbackTest, TheSameCommandAfterALossDoesNotGoBackAgain) {
  ASSERT_EQ(train(50), 0);
  go_back(20, 14);
  EXPECT_EQ(train(60, 38), 1);
  EXPECT_EQ(train(60, 44), 1);
  EXPECT_EQ(began_, 30u) << "from what the new lineage saved";
  EXPECT_THAT(said_, HasSubstr("the run went back to step 20 in attempt 2, as --resume-from says"));
  wish_nothing();
  EXPECT_EQ(train(60, 52), 1);
  EXPECT_EQ(began_, 40u);
  go_back(20, 14);
  ASSERT_EQ(train(60), 0);
  EXPECT_EQ(began_, 50u);
  EXPECT_EQ(digest_, digest_of(20, 14, 60));
}

TEST_F(TrainRollbackTest, OnceRecordedItHoldsWithoutTheFlagsToo) {
  ASSERT_EQ(train(50), 0);
  go_back(20, 14);
  EXPECT_EQ(train(60, 23), 1) << "before anything was saved";
  wish_nothing();
  EXPECT_EQ(train(60, 27), 1);
  EXPECT_EQ(began_, 20u);
  go_back(20, 14);
  ASSERT_EQ(train(60), 0);
  EXPECT_EQ(began_, 20u);
  EXPECT_EQ(digest_, digest_of(20, 14, 60)) << "passed over once, not thrice";
  EXPECT_THAT(names("rollbacks"), ElementsAre("a0002.json"));
}

TEST_F(TrainRollbackTest, AnotherSkipIsAnotherRollback) {
  ASSERT_EQ(train(50), 0);
  go_back(20, 14);
  EXPECT_EQ(train(60, 45), 1);
  go_back(40, 8);
  EXPECT_EQ(train(60, 55), 1);
  EXPECT_EQ(began_, 40u);
  Stream twice(kData);
  twice.advance(20);
  twice.skip_to(twice.cursor() + 14);
  twice.advance(20);
  twice.skip_to(twice.cursor() + 8);
  twice.advance(20);
  ASSERT_EQ(train(60), 0);
  EXPECT_EQ(digest_, twice.digest()) << "both are in the plan";
  go_back(20, 30);
  ASSERT_EQ(train(60), 0);
  EXPECT_EQ(began_, 20u);
  EXPECT_EQ(digest_, digest_of(20, 30, 60)) << "from before both";
  go_back(20, 14);
  ASSERT_EQ(train(60), 0);
  EXPECT_EQ(began_, 20u) << "it was taken back with the others";
  EXPECT_EQ(digest_, digest_of(20, 14, 60));
}

TEST_F(TrainRollbackTest, TheHistoryShowsItAndRepeatsNoStep) {
  ASSERT_EQ(train(50), 0);
  go_back(20, 14);
  EXPECT_EQ(train(60, 26), 1);
  EXPECT_EQ(train(60, 44), 1);
  ASSERT_EQ(train(60), 0);
  std::vector<std::uint64_t> steps;
  std::vector<history::Row> rollbacks;
  std::map<std::uint64_t, double> cursors;
  for (const auto& row : rows("s0000000060.a0004.json")) {
    if (row.kind == "rollback") {
      EXPECT_EQ(steps.size(), 20u) << "between the steps 20 and 21";
      rollbacks.push_back(row);
    } else {
      steps.push_back(row.step);
      cursors[row.step] = row.values.at("cursor");
    }
  }
  ASSERT_EQ(steps.size(), 60u);
  for (std::uint64_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], i + 1);
  ASSERT_EQ(rollbacks.size(), 1u);
  EXPECT_EQ(rollbacks.front().step, 20u);
  EXPECT_EQ(rollbacks.front().values,
            (std::map<std::string, double>{{"attempt", 2}, {"skipped_from", 80}, {"skipped_to", 94}}));
  EXPECT_EQ(cursors[20], 80.0);
  EXPECT_EQ(cursors[21], 98.0);
}

TEST_F(TrainRollbackTest, WhatCannotBeDoneIsSaidAndNothingIsGivenUp) {
  const auto still_at_50 = [this] {
    wish_nothing();
    EXPECT_EQ(names("rollbacks"), std::vector<std::string>());
    EXPECT_EQ(names("aside"), std::vector<std::string>());
    EXPECT_EQ(train(50), 0);
    EXPECT_EQ(began_, kNever) << "done at once";
  };
  go_back(20);
  EXPECT_EQ(train(50), 82);
  EXPECT_THAT(said_, HasSubstr("--resume-from 20: the run has no checkpoint of that step that can be read; "
                               "the run has no checkpoint"));
  wish_nothing();
  ASSERT_EQ(train(50), 0);
  go_back(25);
  EXPECT_EQ(train(60), 82);
  EXPECT_THAT(said_, HasSubstr("there are steps 10 20 30 40 50\n"));
  go_back(20, 200);
  EXPECT_EQ(run(Until::samples(240), kNever, 1), 82);
  EXPECT_THAT(said_,
              HasSubstr("--skip 200 passes the end of the run (240sp), because it begins at sample 80, so no "
                        "sample is left to train: skip fewer samples; no checkpoint was set aside"));
  still_at_50();
}

TEST_F(TrainRollbackTest, PassingTheEndOfAnEpochIsNoError) {
  ASSERT_EQ(train(50), 0);
  go_back(20, 1000);
  ASSERT_EQ(train(60), 0) << said_;
  EXPECT_EQ(digest_, digest_of(20, 1000, 60));
}

TEST_F(TrainRollbackTest, AProgramWithoutOneStreamIsRefusedASkipAndNothingElse) {
  for (const int streams : {0, 2}) {
    options_.run_name = "run" + std::to_string(streams);
    wish_nothing();
    ASSERT_EQ(run(Until::steps(30), kNever, streams), 0);
    go_back(10, 5);
    EXPECT_EQ(run(Until::steps(30), kNever, streams), 82);
    EXPECT_THAT(said_, HasSubstr("--skip needs exactly one tracked ratoon::Stream, and this program tracks " +
                                 std::to_string(streams)));
    EXPECT_FALSE(std::filesystem::exists(folder_ / options_.run_name / "rollbacks"));
    go_back(10);
    EXPECT_EQ(run(Until::steps(30), kNever, streams), 0);
    EXPECT_EQ(began_, 10u);
  }
}

TEST_F(TrainRollbackTest, ADamagedCheckpointIsNotGoneBackTo) {
  ASSERT_EQ(train(50), 0);
  const auto pack = folder_ / "run/packs/a0001/s0000000020/r0000.safetensors";
  std::string bytes = test::read_text(pack);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  test::write_text(pack, bytes);
  go_back(20, 14);
  EXPECT_EQ(train(60), 82);
  EXPECT_THAT(said_, HasSubstr("no checkpoint of that step that can be read; there are steps 10 30 40 50"));
  EXPECT_THAT(names("rollbacks"), IsEmpty());
  wish_nothing();
  EXPECT_EQ(train(60), 0);
  EXPECT_EQ(began_, 50u);
}

// The checkpoint to which the run went back is lost before the next save: older ones remain, and skipped
// samples stay skipped.
TEST_F(TrainRollbackTest, WhereItsCheckpointIsLostAnOlderOnePassesOverMore) {
  ASSERT_EQ(train(50), 0);
  go_back(20, 14);
  EXPECT_EQ(train(60, 23), 1);
  std::filesystem::remove_all(folder_ / "run/packs/a0001/s0000000020");
  ASSERT_EQ(train(60), 0) << said_;
  EXPECT_EQ(began_, 10u);
  EXPECT_EQ(digest_, digest_of(10, 40 + 14, 60)) << "up to sample 94";
}

TEST_F(TrainRollbackTest, ARunThatBeginsAnewMayMakeTheSameRollbackAgain) {
  ASSERT_EQ(train(50), 0);
  go_back(20, 14);
  ASSERT_EQ(train(50), 0);
  wish_nothing();
  options_.overwrite = true;
  ASSERT_EQ(train(50), 0);
  EXPECT_EQ(began_, 0u);
  options_.overwrite = false;
  EXPECT_EQ(digest_, digest_of(0, 0, 50)) << "nothing is passed over in another run";
  go_back(20, 14);
  ASSERT_EQ(train(50), 0) << said_;
  EXPECT_EQ(began_, 20u);
  EXPECT_THAT(said_, Not(HasSubstr("went back")));
}

TEST_F(TrainRollbackTest, AStoreThatHoldsNewerOnesDoesNotWin) {
  ASSERT_EQ(train(50), 0);
  std::filesystem::create_directories(folder_ / "store/run");
  for (const char* kind : {"manifests", "packs"})
    std::filesystem::copy(folder_ / "run" / kind, folder_ / "store/run" / kind,
                          std::filesystem::copy_options::recursive);
  options_.stores = {(folder_ / "store").string()};
  options_.keep_last_in_stores = 20;
  go_back(20, 14);
  EXPECT_EQ(train(60, 23), 1);
  EXPECT_THAT(names("../store/run/rollbacks"), ElementsAre("a0002.json"));
  EXPECT_THAT(names("../store/run/aside"), Contains("s0000000050.a0001.json"));
  // As after a power cut between the two, and a mirror that ends late.
  std::filesystem::remove_all(folder_ / "store/run/rollbacks");
  for (const auto& file : std::filesystem::directory_iterator(folder_ / "store/run/aside"))
    std::filesystem::rename(file.path(), folder_ / "store/run/manifests" / file.path().filename());
  EXPECT_EQ(train(60, 27), 1);
  EXPECT_EQ(began_, 20u);
  EXPECT_THAT(names("../store/run/manifests"), Not(Contains("s0000000050.a0001.json"))) << "set aside again";
  std::filesystem::remove_all(folder_ / "run");
  ASSERT_EQ(train(60), 0) << said_;
  EXPECT_EQ(digest_, digest_of(20, 14, 60)) << "the store alone knows it all";
}

// An engine of attempt 2, in a process that made three steps after the rollback and lost them.
class RollbackEngineTest : public TrainRollbackTest {
 protected:
  void begin_from(std::uint64_t step) {
    ASSERT_EQ(train(50), 0);
    go_back(20, 14);
    session::CheckpointLocations places(options_, test::borrowed(meters_));
    auto saver = checkpoint::Saver::open(places.home(), random_hex_name(), std::make_shared<SystemClock>(),
                                         {.has_writer_thread = false})
                     .value();
    const auto found = places.list_resumable().value();
    ASSERT_EQ(found.complete.size(), 1u) << "nothing else may be picked";
    ResumePoint resume{.attempt = Attempt(1), .step = Step(step), .digest = found.complete.front().digest};
    if (step != 20) resume.digest = places.inventory()->complete.front().digest;
    meters_.step = 23;
    meters_.samples = 94 + 3 * kBatch;
    test::QuietLink link;
    const SystemClock clock;
    Session::Engine engine({.options = options_,
                            .places = places,
                            .saver = saver,
                            .link = link,
                            .clock = clock,
                            .meters = meters_},
                           {.attempt = Attempt(2), .resume = resume});
    Stream stream(kData);
    engine.track(
        "stream", [&](StateWriter& out) { out.bytes("", stream.save_state()); },
        [&](StateReader& in) { in.bytes("", [&](const std::string& state) { stream.load_state(state); }); });
    engine.note_stream(stream);
    engine.follow([&] {
      return session::DataPosition{.samples = stream.cursor(), .epoch_samples = stream.epoch_slots()};
    });
    engine.begin(Until::steps(60));
  }
  metrics::Meters meters_;
};

TEST_F(RollbackEngineTest, ReplayedSamplesAreThoseThatAreTakenAgain) {
  begin_from(20);
  EXPECT_EQ(meters_.replayed_steps, 3u);
  EXPECT_EQ(meters_.replayed_samples, 3 * kBatch) << "not those that are passed over";
}

TEST_F(RollbackEngineTest, AWorldThatGoesElsewhereIsLeft) {
  try {
    begin_from(50);
    FAIL() << "it begins";
  } catch (const Failure& why) {
    EXPECT_EQ(why.exit_code, 83);
    EXPECT_THAT(why.what(), HasSubstr("the run does not go back to step 20 as --resume-from requests"));
  }
  EXPECT_THAT(names("rollbacks"), IsEmpty());
}

}  // namespace
}  // namespace ratoon::train_rollback_test
