#include "agent/src/session/telemetry/run_ledger.h"

#include <limits>

#include <gtest/gtest.h>

namespace ratoon::session::run_ledger_test {
namespace {

using namespace std::chrono_literals;

RunLedger some_ledger() {
  RunLedger ledger{.account = {}, .at = {.since_epoch = 1'700'000'000s}, .step = 40, .newest_step = 47};
  for (std::size_t i = 0; i < kParts; ++i)
    ledger.account = ledger.account.plus(static_cast<Part>(i), (i + 1) * 1500ms + 1ns);
  return ledger;
}

TEST(RunLedger, IsARowThatComesBack) {
  RunLedger ledger = some_ledger();
  EXPECT_EQ(ledger_of(row_of(ledger)), ledger);
  ledger.newest_validated_step = 30;
  const history::Row row = row_of(ledger);
  EXPECT_EQ(ledger_of(row), ledger);
  EXPECT_EQ(row.kind, "ledger");
  EXPECT_EQ(row.values.size(), kParts + 2);
  EXPECT_EQ(ledger_of(history::decode_row(history::encode(row)).value()), ledger);
}

TEST(RunLedger, IsNothingElse) {
  history::Row row = row_of(some_ledger());
  row.kind = "step";
  EXPECT_EQ(ledger_of(row), std::nullopt);
  for (const double bad : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    row = row_of(some_ledger());
    row.values["newest_step"] = bad;
    EXPECT_EQ(ledger_of(row), std::nullopt) << bad;
  }
  row = row_of(some_ledger());
  row.values.erase("hung");
  EXPECT_EQ(ledger_of(row)->account.of(Part::kHung), 0s) << "a part that the writer did not know";
  row.values["useful"] = -5;
  EXPECT_EQ(ledger_of(row)->account.of(Part::kUseful), 0s);
}

TEST(RunLedger, RowsAreRarerTheLongerAnAttemptLasts) {
  EXPECT_EQ(pause_between_rows(0s), 1s);
  EXPECT_EQ(pause_between_rows(100s), 1s);
  EXPECT_EQ(pause_between_rows(1000s), 10s);
  EXPECT_EQ(pause_between_rows(100h), 1min);
}

}  // namespace
}  // namespace ratoon::session::run_ledger_test
