#include "agent/src/session/telemetry/run_ledger.h"

#include <algorithm>
#include <chrono>
#include <string>

namespace ratoon::session {
namespace {

constexpr const char* kNewestStep = "newest_step";
constexpr const char* kNewestValidated = "newest_validated";
constexpr double kCountMax = 9007199254740992.0;  // 2^53: beyond it a double skips numbers

std::optional<std::uint64_t> read_count(const history::Row& row, const char* name) {
  const auto found = row.values.find(name);
  if (found == row.values.end() || !(found->second >= 0) || found->second > kCountMax) return std::nullopt;
  return static_cast<std::uint64_t>(found->second);
}

}  // namespace

history::Row row_of(const RunLedger& ledger) {
  history::Row row{.kind = std::string(kLedgerKind), .step = ledger.step, .at = ledger.at, .values = {}};
  for (const auto& [name, value] : seconds_of(ledger.account)) row.values.emplace(name, value);
  row.values.emplace(kNewestStep, static_cast<double>(ledger.newest_step));
  if (ledger.newest_validated_step)
    row.values.emplace(kNewestValidated, static_cast<double>(*ledger.newest_validated_step));
  return row;
}

std::optional<RunLedger> ledger_of(const history::Row& row) {
  if (row.kind != kLedgerKind) return std::nullopt;
  RunLedger ledger{.account = {}, .at = row.at, .step = row.step};
  for (std::size_t i = 0; i < kParts; ++i) {
    const Part part = static_cast<Part>(i);
    // A row of an older version of Ratoon may lack a part, which then counts as 0.
    if (const auto found = row.values.find(std::string(name_of(part))); found != row.values.end())
      ledger.account = ledger.account.plus(part, from_seconds(found->second));
  }
  const auto newest = read_count(row, kNewestStep);
  if (!newest) return std::nullopt;
  ledger.newest_step = *newest;
  ledger.newest_validated_step = read_count(row, kNewestValidated);
  return ledger;
}

std::vector<std::pair<std::string_view, double>> seconds_of(const Account& account) {
  std::vector<std::pair<std::string_view, double>> parts;
  for (std::size_t i = 0; i < kParts; ++i)
    parts.emplace_back(name_of(static_cast<Part>(i)), seconds(account.of(static_cast<Part>(i))));
  return parts;
}

Duration pause_between_rows(Duration since_attempt_began) {
  return std::clamp<Duration>(since_attempt_began / 100, std::chrono::seconds(1), std::chrono::minutes(1));
}

}  // namespace ratoon::session
