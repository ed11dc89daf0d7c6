// The ledger of train(), over attempts in one process and over calls that act as processes.
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <ratoon/data_loader.h>
#include <ratoon/failure.h>
#include <ratoon/stream.h>
#include <ratoon/train.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/history/last_row.h"
#include "agent/src/session/telemetry/run_ledger.h"
#include "tests/support/change_world.h"
#include "tests/support/numbers_dataset.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::train_ledger_test {
namespace {

using namespace std::chrono_literals;
using session::Part;

constexpr auto kStep = 3ms;
constexpr auto kAway = 200ms;
constexpr auto kRounded = 10ms;  // between the wall's clock and the one that measures, and in what is written

void spend(Duration time) {
  const SystemClock clock;
  const Timestamp end = clock.now() + time;
  while (clock.now() < end) {
  }
}

TEST(TrainLedger, PartsSumToTheTimeSinceTheFirstStart) {
  test::TemporaryFolder folder;
  const Options options{.save_folder = folder.path().string(),
                        .run_name = "run",
                        .save_every = Every::steps(10),
                        .keep_last = 2,
                        .member = {}};
  const auto disk = [&] { return checkpoint::RealDisk::open_folder(folder / "run").value(); };
  const auto last_word = [&] {
    return *session::ledger_of(history::find_last_row(*disk(), session::kLedgerKind).value()->row);
  };
  const SystemClock clock;
  std::optional<WallTime> began_to_train;
  WallTime trained_last;
  // Loses the steps after the last save: within the process if the link reports the loss, and with the
  // process otherwise.
  const auto train_until = [&](std::uint64_t interrupted_after, std::uint64_t killed_after) {
    testing::internal::CaptureStderr();
    bool was_interrupted = false;
    const int code = ratoon::train(options, [&](Session& session) {
      if (!began_to_train) began_to_train = clock.wall_now();
      std::uint64_t sum = 0;
      session.track("sum", sum);
      for (const std::uint64_t step : session.steps(50)) {
        if (step == interrupted_after && !std::exchange(was_interrupted, true))
          test::change_world(session, "a loss");
        if (step == killed_after) throw std::runtime_error("killed");
        spend(kStep);
        sum += step;
        trained_last = clock.wall_now();
      }
    });
    testing::internal::GetCapturedStderr();
    return code;
  };
  const WallTime began = clock.wall_now();
  EXPECT_EQ(train_until(17, 25), 1);
  const auto killed = last_word();
  EXPECT_EQ(killed.newest_step, 25u);
  EXPECT_GE(killed.account.of(Part::kRecomputed), 7 * kStep);
  spend(kAway);
  EXPECT_EQ(train_until(36, ~0ULL), 0);
  const WallTime ended = clock.wall_now();

  const auto end = last_word();
  EXPECT_EQ(end.newest_step, 50u);
  EXPECT_GE(end.account.of(Part::kUseful), 50 * kStep);
  EXPECT_GE(end.account.of(Part::kRecomputed), (7 + 5 + 6) * kStep);
  EXPECT_GE(end.account.of(Part::kRestarting), killed.account.of(Part::kRestarting) + kAway);
  EXPECT_GT(end.account.of(Part::kSaveStall), 0s);
  // For any wait of this process for a processor: all time from the first step to the last, and none before
  // the start or after the end.
  EXPECT_GE(end.account.total(), trained_last.since_epoch - began_to_train->since_epoch - kRounded);
  EXPECT_LE(end.account.total(), ended.since_epoch - began.since_epoch + kRounded);
}

// As for an exception of another language, which C++ does not see.
TEST(TrainLedger, StaysInAPhaseThatIsLeftUnfinished) {
  test::TemporaryFolder folder;
  const Options options{.save_folder = folder.path().string(), .run_name = "run", .member = {}};
  testing::internal::CaptureStderr();
  const int code = ratoon::train(options, [&](Session& session) {
    for (const std::uint64_t step : session.steps(2)) {
      if (step == 1) session.in(Phase::kValidation).leave_unfinished();
      spend(10 * kStep);
    }
  });
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 0);
  const auto disk = checkpoint::RealDisk::open_folder(folder / "run").value();
  const auto row = history::find_last_row(*disk, session::kLedgerKind).value();
  ASSERT_TRUE(row);
  EXPECT_GE(session::ledger_of(row->row)->account.of(Part::kValidation), 10 * kStep);
}

TEST(TrainLedger, KnowsWhatTheProgramSaysOfItsTime) {
  test::TemporaryFolder folder;
  const Options options{.save_folder = folder.path().string(), .run_name = "run", .member = {}};
  testing::internal::CaptureStderr();
  bool was_interrupted = false;
  const int code = ratoon::train(options, [&](Session& session) {
    std::uint64_t sum = 0;
    session.track("sum", sum);
    {
      const auto loads = session.in(Phase::kData);  // before the loop it is part of the start
      spend(kStep);
    }
    for (const std::uint64_t step : session.steps(4)) {
      const auto wait = [&] {
        const auto waits = session.in(Phase::kData);
        spend(10 * kStep);
      };
      wait();
      if (step == 2) {
        const auto validates = session.in(Phase::kValidation);
        wait();
        spend(20 * kStep);
        if (!std::exchange(was_interrupted, true)) test::change_world(session, "cut off in it");
      }
      sum += step;
    }
  });
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 0);
  const auto disk = checkpoint::RealDisk::open_folder(folder / "run").value();
  const auto row = history::find_last_row(*disk, session::kLedgerKind).value();
  ASSERT_TRUE(row);
  const auto end = *session::ledger_of(row->row);
  EXPECT_GE(end.account.of(Part::kDataWait), (3 + 1 + 4 + 1) * 10 * kStep);
  EXPECT_GE(end.account.of(Part::kValidation), 2 * 20 * kStep) << "the one that was cut off was not made";
  EXPECT_EQ(end.newest_validated_step, 2u);
  EXPECT_EQ(end.newest_step, 4u);
}

TEST(TrainLedger, ALoaderSaysByItselfThatItWaits) {
  test::TemporaryFolder folder;
  const Options options{.save_folder = folder.path().string(), .run_name = "run", .member = {}};
  testing::internal::CaptureStderr();
  const int code = ratoon::train(options, [&](Session& session) {
    const auto slow = std::make_shared<test::NumbersDataset>(100, [](auto, auto&) { spend(10 * kStep); });
    Stream stream({.global_batch = 1, .seed = 17, .sources = {source_of(*slow)}});
    DataLoader loader(slow, stream, {.threads = 0});
    session.track("stream", stream);
    for ([[maybe_unused]] const std::uint64_t step : session.steps(4)) loader.advance(loader.next());
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 0) << said;
  const auto disk = checkpoint::RealDisk::open_folder(folder / "run").value();
  const auto row = history::find_last_row(*disk, session::kLedgerKind).value();
  ASSERT_TRUE(row);
  const auto end = *session::ledger_of(row->row);
  EXPECT_GE(end.account.of(Part::kDataWait), 4 * 10 * kStep);
}

}  // namespace
}  // namespace ratoon::train_ledger_test
