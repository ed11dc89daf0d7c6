// RunLedger is the account of a whole run's time, and is stored as a row of the history. The next attempt, in
// this process or in another process, continues from that row.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/src/history/line.h"
#include "agent/src/session/telemetry/ledger.h"
#include "base/core/clock.h"

namespace ratoon::session {

inline constexpr std::string_view kLedgerKind = "ledger";  // the kind of its rows

struct RunLedger {
  Account account;
  WallTime at;
  std::uint64_t step = 0;         // in the weights
  std::uint64_t newest_step = 0;  // the newest that any attempt reached: steps up to here are made again
  std::optional<std::uint64_t> newest_validated{};  // the newest of any attempt, after so many steps

  friend bool operator==(const RunLedger&, const RunLedger&) = default;
};

// Converts a RunLedger to a row of kind "ledger", and back. For other rows, and for rows of a version that
// counted differently, the result is nullopt.
[[nodiscard]] history::Row row_of(const RunLedger& ledger);
[[nodiscard]] std::optional<RunLedger> ledger_of(const history::Row& row);

// Returns the seconds of each part, with its name.
[[nodiscard]] std::vector<std::pair<std::string_view, double>> seconds_of(const Account& account);

// Returns the pause between two ledger rows. With this pause, a kill makes at most a hundredth of an attempt
// count in the wrong part, and a long run does not fill its disk.
[[nodiscard]] Duration pause_between_rows(Duration since_attempt_began);

}  // namespace ratoon::session
