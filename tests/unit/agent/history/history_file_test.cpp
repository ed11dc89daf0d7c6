#include "agent/src/history/history_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/history/join.h"
#include "tests/support/crash/model_disk.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::history::history_file_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Row row(std::uint64_t step) {
  return {.kind = "step", .step = step, .at = {}, .values = {{"loss", 0.5}}};
}

std::vector<std::uint64_t> steps_in(const checkpoint::Disk& disk, const HistoryPosition& end) {
  std::vector<std::uint64_t> steps;
  const auto joined = join(
      end, [&](Attempt attempt) { return read_file(disk, attempt); },
      [&](Attempt, const Row& r) { steps.push_back(r.step); });
  EXPECT_TRUE(joined) << joined.error().message();
  return steps;
}

TEST(HistoryFile, IsWrittenByAttemptsAndReadAsOne) {
  const test::TemporaryFolder folder;
  const auto disk = checkpoint::RealDisk::open_folder(folder.path()).value();
  EXPECT_THAT(list_attempts(*disk).value(), ElementsAre());
  HistoryPosition saved;
  {
    auto file = HistoryFile::begin(*disk, Attempt(1), std::nullopt).value();
    EXPECT_EQ(file.durable(), std::nullopt);
    file.append(row(1));
    file.append(row(2));
    saved = file.sync().value();
    EXPECT_EQ(file.durable(), saved);
    file.append(row(3));
    ASSERT_TRUE(file.flush());
    file.append(row(4));  // and killed
  }
  EXPECT_FALSE(resumed_from_checkpoint(*disk));
  EXPECT_EQ(std::filesystem::file_size(folder / "history/a0001.jsonl"), saved.bytes + encode(row(3)).size());
  auto second = HistoryFile::begin(*disk, Attempt(2), saved).value();
  second.append(row(3));
  const HistoryPosition end = second.sync().value();
  EXPECT_TRUE(resumed_from_checkpoint(*disk));
  EXPECT_THAT(steps_in(*disk, end), ElementsAre(1, 2, 3));
  EXPECT_THAT(list_attempts(*disk).value(), ElementsAre(Attempt(1), Attempt(2)));
}

TEST(HistoryFile, IsOfOneAttemptAlone) {
  test::ModelDisk disk;
  ASSERT_TRUE(HistoryFile::begin(disk, Attempt(1), std::nullopt));
  const auto again = HistoryFile::begin(disk, Attempt(1), std::nullopt);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kAlreadyExists);
}

TEST(HistoryFile, WhatCannotBeWrittenIsWrittenLater) {
  test::ModelDisk disk;
  auto file = HistoryFile::begin(disk, Attempt(1), std::nullopt).value();
  file.append(row(1));
  disk.set_faults([](test::DiskCall call, const std::string&) -> test::Fault {
    if (call != test::DiskCall::kWrite) return {};
    return {.error = Error(ErrorKind::kNoSpace, "full"), .short_write = 9};
  });
  EXPECT_EQ(file.flush().error().kind(), ErrorKind::kNoSpace);
  EXPECT_FALSE(file.sync());
  file.append(row(2));
  disk.set_faults({});
  EXPECT_THAT(steps_in(disk, file.sync().value()), ElementsAre(1, 2));
  EXPECT_EQ(file.rows_lost(), 0u);
}

TEST(HistoryFile, KeepsABoundedAmount) {
  test::ModelDisk disk;
  auto file = HistoryFile::begin(disk, Attempt(1), std::nullopt).value();
  Row large = row(1);
  large.kind = std::string(200, 'k');
  for (int i = 0; i < 2000; ++i) large.values["value " + std::to_string(i)] = i;
  for (int i = 0; i < 120; ++i) file.append(large);
  EXPECT_GT(file.rows_lost(), 0u);
  EXPECT_LE(file.sync().value().bytes, HistoryFile::kPendingBytesMax);
  large.values["x"] = 0;
  for (int i = 0; i < 60'000; ++i) large.values["more " + std::to_string(i)] = i;
  const auto lost = file.rows_lost();
  file.append(large);  // longer than a line may be
  EXPECT_EQ(file.rows_lost(), lost + 1);
  file.append(row(2));
  EXPECT_EQ(file.rows_lost(), lost + 1);
}

TEST(HistoryFile, AFailedSyncIsFinal) {
  test::ModelDisk disk;
  auto file = HistoryFile::begin(disk, Attempt(1), std::nullopt).value();
  file.append(row(1));
  const HistoryPosition saved = file.sync().value();
  EXPECT_EQ(file.sync().value(), saved);  // nothing new, nothing to sync
  file.append(row(2));
  disk.set_faults([](test::DiskCall call, const std::string&) -> test::Fault {
    if (call != test::DiskCall::kSync) return {};
    return {.error = Error(ErrorKind::kIo, "bad sector")};
  });
  EXPECT_THAT(file.sync().error().message(), HasSubstr("is no longer written"));
  disk.set_faults({});
  file.append(row(3));
  EXPECT_FALSE(file.sync());
  EXPECT_FALSE(file.flush());
  EXPECT_EQ(file.durable(), saved);
  EXPECT_EQ(file.rows_lost(), 1u);
}

}  // namespace
}  // namespace ratoon::history::history_file_test
