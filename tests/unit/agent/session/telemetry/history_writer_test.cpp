// The history of an attempt, written by three threads: the trainer's, the saver's, and the writer's own.
#include "agent/src/session/telemetry/history_writer.h"

#include <atomic>
#include <cerrno>
#include <thread>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/history/join.h"
#include "tests/support/failing_calls/draw.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::session::history_writer_test {
namespace {

TEST(HistoryWriter, KeepsTheOrderOfRowsWhileItsPlaceIsAsked) {
  constexpr std::uint64_t kRows = 2000;
  const test::TemporaryFolder folder;
  const std::shared_ptr<checkpoint::Disk> disk = checkpoint::RealDisk::open_folder(folder.path()).value();
  std::optional<history::HistoryPosition> end;
  {
    HistoryWriter writer(disk, Attempt(1), std::nullopt,
                         [] { return history::Row{.kind = "ledger", .step = 0, .at = {}}; });
    std::atomic<bool> is_trained = false;
    std::jthread saver([&] {
      std::uint64_t bytes = 0;
      while (!is_trained) {
        if (const auto place = writer.end_position()) {
          EXPECT_GE(place->bytes, bytes);
          bytes = place->bytes;
        }
        writer.sync();
      }
    });
    for (std::uint64_t step = 1; step <= kRows; ++step) {
      writer.append({.kind = "step", .step = step, .at = {}, .values = {{"loss", 0.5}}});
      EXPECT_EQ(writer.take_event(), "");
    }
    is_trained = true;
    saver.join();
    writer.end();
    end = writer.end_position();
  }
  ASSERT_TRUE(end);
  std::uint64_t last = 0;
  const auto joined = history::join(
      *end, [&](Attempt attempt) { return history::read_file(*disk, attempt); },
      [&](Attempt, const history::Row& row) {
        if (row.kind != "step") return;
        ++last;
        EXPECT_EQ(row.step, last);
      });
  EXPECT_TRUE(joined) << joined.error().message();
  EXPECT_EQ(last, kRows);
}

TEST(HistoryWriter, LosesNoRowWhereTheSystemRefusesItsThread) {
  const test::TemporaryFolder folder;
  const std::shared_ptr<checkpoint::Disk> disk = checkpoint::RealDisk::open_folder(folder.path()).value();
  HistoryWriter writer(disk, Attempt(1), std::nullopt);
  const history::Row row{.kind = "step", .step = 1, .at = {}};
  {
    const test::failing::Fault fault(test::failing::Call::kThread, EAGAIN);
    writer.append(row);
    EXPECT_EQ(fault.failed(), 1U);
  }
  writer.append(row);
  const auto end = writer.end_position();
  ASSERT_TRUE(end);
  std::size_t rows = 0;
  const auto joined = history::join(
      *end, [&](Attempt attempt) { return history::read_file(*disk, attempt); },
      [&](Attempt, const history::Row&) { ++rows; });
  EXPECT_TRUE(joined) << joined.error().message();
  EXPECT_EQ(rows, 2U);
}

// Out of memory, for example: no other code catches exceptions in the writer's own thread.
TEST(HistoryWriter, SaysThatThereAreGapsWhereItsThreadThrows) {
  const test::TemporaryFolder folder;
  const std::shared_ptr<checkpoint::Disk> disk = checkpoint::RealDisk::open_folder(folder.path()).value();
  HistoryWriter writer(disk, Attempt(1), std::nullopt,
                       []() -> std::optional<history::Row> { throw std::bad_alloc(); });
  writer.append({.kind = "step", .step = 1, .at = {}});
  std::string event;
  while (event.empty()) {
    event = writer.take_event();
    std::this_thread::yield();
  }
  EXPECT_EQ(event, "the history on the disk lacks rows from this step on: std::bad_alloc");
  EXPECT_TRUE(writer.end_position()) << "rows of others are kept";
}

}  // namespace
}  // namespace ratoon::session::history_writer_test
