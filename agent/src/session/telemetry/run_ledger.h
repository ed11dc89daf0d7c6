// RunLedger: the account of the time of a whole run, in the form of a row of the history. The next attempt,
// in this process or in another one, continues from that row.
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

// Converts to a row of kind "ledger", and back. nullopt: the row is of another kind, or of a version that
// counted otherwise.
[[nodiscard]] history::Row row_of(const RunLedger& ledger);
[[nodiscard]] std::optional<RunLedger> ledger_of(const history::Row& row);

// The time of each part by its name.
[[nodiscard]] std::vector<std::pair<std::string_view, double>> seconds_of(const Account& account);

// The pause from one row to the next. With this pause a kill loses at most a hundredth of an attempt to the
// wrong part, and a long run does not fill its disk.
[[nodiscard]] Duration pause_between_rows(Duration since_attempt_began);

}  // namespace ratoon::session
