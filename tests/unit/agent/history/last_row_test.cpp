#include "agent/src/history/last_row.h"

#include <gtest/gtest.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/history/history_file.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::history::last_row_test {
namespace {

using namespace std::chrono_literals;

Row row(const std::string& kind, std::uint64_t step) {
  return {.kind = kind, .step = step, .at = {.since_epoch = 1'700'000'000s}, .values = {{"ledger", 1.0}}};
}

TEST(LastRow, IsTheNewestSoundOneOfItsKind) {
  const std::string rows = encode(row("ledger", 1)) + encode(row("ledger", 2)) + encode(row("step", 3));
  EXPECT_EQ(last_row_in(rows, "ledger"), row("ledger", 2));
  EXPECT_EQ(last_row_in(rows, "step"), row("step", 3));
  EXPECT_EQ(last_row_in(rows, "save"), std::nullopt);
  EXPECT_EQ(last_row_in("", "step"), std::nullopt);
  // At every cut, an incomplete line is never mistaken for a row.
  for (std::size_t bytes = 0; bytes <= rows.size(); ++bytes) {
    const auto found = last_row_in(std::string_view(rows).substr(0, bytes), "ledger");
    const std::size_t first = encode(row("ledger", 1)).size();
    const std::uint64_t expected = bytes < first ? 0 : bytes < 2 * first ? 1 : 2;
    EXPECT_EQ(found ? found->step : 0, expected) << bytes;
  }
  EXPECT_EQ(last_row_in(rows + std::string(100, '\0') + "\n{\"kind\":\"ledger\"}\n", "ledger"),
            row("ledger", 2));
}

TEST(LastRow, IsFoundFarFromTheEndAndInOlderFiles) {
  test::TemporaryFolder folder;
  const auto disk = checkpoint::RealDisk::open_folder(folder.path()).value();
  EXPECT_EQ(find_last_row(*disk, "ledger").value(), std::nullopt);
  const auto write = [&](std::uint64_t attempt, std::uint64_t ledger_rows, std::uint64_t step_rows) {
    auto file = HistoryFile::begin(*disk, Attempt(attempt), std::nullopt).value();
    for (std::uint64_t i = 1; i <= ledger_rows; ++i) file.append(row("ledger", 100 * attempt + i));
    for (std::uint64_t i = 1; i <= step_rows; ++i) file.append(row("step", i));
    ASSERT_TRUE(file.flush());
  };
  write(3, 2, 20'000);  // more than a megabyte
  auto found = find_last_row(*disk, "ledger").value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->row, row("ledger", 302));
  EXPECT_EQ(found->attempt, Attempt(3));
  write(4, 0, 5);
  EXPECT_EQ(find_last_row(*disk, "ledger").value()->attempt, Attempt(3)) << "the newer one left none";
  write(12, 1, 0);
  EXPECT_EQ(find_last_row(*disk, "ledger").value()->row, row("ledger", 1201));
}

}  // namespace
}  // namespace ratoon::history::last_row_test
