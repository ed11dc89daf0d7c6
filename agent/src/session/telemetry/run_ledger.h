// RunLedger: the time that a whole run spent on each part, such as useful steps, stored as a row of the run's
// history. The next attempt, in this or another process, continues from the newest ledger row.
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
  std::optional<std::uint64_t> newest_validated_step{};  // the newest of any attempt, after so many steps

  friend bool operator==(const RunLedger&, const RunLedger&) = default;
};

// The function row_of() converts a RunLedger to a history row of kind "ledger", and ledger_of() converts such
// a row back. The result of ledger_of() is nullopt for rows of other kinds, and for rows of versions of
// Ratoon that counted time differently.
[[nodiscard]] history::Row row_of(const RunLedger& ledger);
[[nodiscard]] std::optional<RunLedger> ledger_of(const history::Row& row);

// Returns the name and the seconds of each part of the time.
[[nodiscard]] std::vector<std::pair<std::string_view, double>> seconds_of(const Account& account);

// Returns the pause between two ledger rows in the history. The pause is a hundredth of the attempt's time so
// far, but at least a second and at most a minute. The pause is so short that a kill leaves only a little
// time without a row, and so long that the rows do not fill the disk.
[[nodiscard]] Duration pause_between_rows(Duration since_attempt_began);

}  // namespace ratoon::session
