// RunLedger: where the time of a whole run went, as a row of the history keeps it: what the next attempt, in
// this process or in another one, goes on from.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/src/history/line.h"
#include "agent/src/session/ledger.h"
#include "base/core/clock.h"

namespace ratoon::session {

inline constexpr std::string_view kLedgerKind = "ledger";  // of its rows

struct RunLedger {
  Account account;
  WallTime at;
  std::uint64_t step = 0;         // in the weights
  std::uint64_t newest_step = 0;  // that any attempt reached: up to here steps are made again
  std::optional<std::uint64_t> newest_validated{};  // after so many steps, by any attempt

  friend bool operator==(const RunLedger&, const RunLedger&) = default;
};

// A row of kind "ledger", and back; nullopt: it is another, or of a version that counted otherwise.
[[nodiscard]] history::Row row_of(const RunLedger& ledger);
[[nodiscard]] std::optional<RunLedger> ledger_of(const history::Row& row);

// Every part by its name.
[[nodiscard]] std::vector<std::pair<std::string_view, double>> seconds_of(const Account& account);

// From one row to the next: a kill loses no more than a hundredth of an attempt to the wrong part, and a long
// run does not fill its disk.
[[nodiscard]] Duration pause_between_rows(Duration since_attempt_began);

}  // namespace ratoon::session
