#include "cli/report/account.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "cli/report/ledger_bars.h"

namespace ratoon::cli {
namespace {

constexpr const char* kUsefulPart = "useful";
// The greatest expected difference between the clocks of members and of the API server.
constexpr double kClockDifferenceSecondsMax = 5;
constexpr const char* kUnfinishedPart = "unfinished";
constexpr std::array kPartsInOrder = {
    kUsefulPart, kUnfinishedPart,        "recomputed", "save_stall", "data_wait", "validation", "hung",
    "suspended", "waiting_for_capacity", "starting",   "restarting", "ending",    "away"};
// Parts of the ranks' time ledger (docs/reference/history.md) that the operator counts as useful time.
constexpr std::array kPartsOfUseful = {"save_stall", "data_wait", "validation"};
// The parts of time that the ranks count; a row of their time ledger has other fields too.
constexpr std::array kRankLedgerParts = {kUsefulPart,  "recomputed",           "save_stall", "data_wait",
                                         "validation", "waiting_for_capacity", "restarting", "hung"};

double of(const PartSeconds& parts, const std::string& part) {
  const auto found = parts.find(part);
  return found == parts.end() ? 0 : found->second;
}

void move_useful_time(const std::string& part, double spent, PartSeconds& parts) {
  spent = std::clamp(spent, 0.0, of(parts, kUsefulPart));
  parts[kUsefulPart] -= spent;
  parts[part] += spent;
}

// Returns the factor that scales the times of the ranks, so that they fit into the operator's useful time.
// The operator receives reports of steps after the ranks have made them, so the operator's useful time may be
// shorter than that of the ranks. One factor for all parts keeps the ratio of saves to steps.
double useful_time_scale(const PartSeconds& ranks, double useful) {
  double whole = of(ranks, kUsefulPart);
  for (const char* part : kPartsOfUseful) whole += of(ranks, part);
  return whole > useful ? useful / whole : 1;
}

// Splits the useful time by the ranks' time ledger. If the ranks left no time ledger, only the time of stalls
// by saves is known.
void split_useful_time(const RunFacts& facts, PartSeconds& parts) {
  const double scale = useful_time_scale(facts.history.ledger, of(parts, kUsefulPart));
  for (const char* part : kPartsOfUseful)
    move_useful_time(part, scale * of(facts.history.ledger, part), parts);
  if (!facts.history.ledger.empty()) return;
  double stall = 0;
  for (const HistoryRow& save : facts.history.saves) stall += save.value;
  move_useful_time("save_stall", stall, parts);
}

// Divides the time of a run into parts if the run has no time ledger of an operator. The ranks' ledger begins
// with the start of the first rank, so the time before and after comes from the timeline.
PartSeconds account_of_ranks(const PartSeconds& ledger, const PartSeconds& drawn, double length) {
  PartSeconds parts;
  double rest = length;
  for (const char* part : kRankLedgerParts) {
    parts[part] = of(ledger, part);
    rest -= parts[part];
  }
  for (const char* part : {"starting", "ending", "away"}) {
    parts[part] = std::clamp(of(drawn, part), 0.0, std::max(rest, 0.0));
    rest -= parts[part];
  }
  return parts;
}

// Counts the steps that an attempt made and a later attempt repeated, as far as the history shows them.
std::uint64_t count_by_attempts(const AttemptHistory& history) {
  struct Reach {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };
  std::map<std::uint64_t, Reach> attempts;
  for (const auto* rows : {&history.ledger_rows, &history.steps}) {
    for (const HistoryRow& row : *rows) {
      // The first row of an attempt in `ledger_rows` has the step before the attempt's first step. The first
      // row in `steps` has the first step itself.
      const std::uint64_t begins_at = rows == &history.steps && row.step > 0 ? row.step - 1 : row.step;
      const auto [known, is_new] = attempts.try_emplace(row.attempt, Reach{begins_at, row.step});
      known->second.first = std::min(known->second.first, begins_at);
      known->second.last = std::max(known->second.last, row.step);
    }
  }
  std::uint64_t again = 0;
  std::uint64_t reached = 0;
  for (const auto& [attempt, steps] : attempts) {
    if (reached > steps.first) again += reached - steps.first;
    reached = steps.last;
  }
  return again;
}

// Divides the time of a cluster's job by the ledger in its status. If the job continues an older run, the
// ledger does not cover the whole time of the run.
std::optional<PartSeconds> account_of_cluster_job(const RunFacts& facts, double length) {
  if (!facts.job_time || !facts.status || !facts.events.empty()) return std::nullopt;
  const double begin = seconds(facts.job_time->begin.since_epoch);
  const double end = seconds(facts.job_time->end.since_epoch);
  if (length > end - begin + kClockDifferenceSecondsMax) return std::nullopt;
  const api::JobTimeLedger& ledger = facts.status->ledger;
  PartSeconds parts;
  for (std::size_t i = 0; i < api::kTimeLedgerPartCount; ++i)
    parts[std::string(ledger_part_name(static_cast<api::TimeLedgerPart>(i)))] = ledger.seconds[i];
  if (ledger.since)
    parts[std::string(ledger_part_name(ledger.part))] +=
        std::max(0.0, end - seconds(ledger.since->since_epoch));
  double counted = 0;
  for (const auto& [part, spent] : parts) counted += spent;
  if (counted <= 0) return std::nullopt;
  parts["starting"] = std::max(0.0, length - counted);  // until an operator noticed the job
  return parts;
}

const api::JobTimeLedger* newest_ledger(const RunFacts& facts) {
  if (facts.status) return &facts.status->ledger;
  const api::JobTimeLedger* newest = nullptr;
  for (const RunEvent& event : facts.events)
    if (event.ledger) newest = &*event.ledger;
  return newest;
}

}  // namespace

std::vector<std::pair<std::string, double>> make_account(const RunFacts& facts, const Timeline& timeline,
                                                         double length, bool has_failed) {
  PartSeconds parts = sum_by_part(timeline.run);
  const auto of_job = account_of_cluster_job(facts, length);
  if (of_job) parts = *of_job;
  if (of_job || timeline.is_from_ledger || facts.history.ledger.empty())
    split_useful_time(facts, parts);
  else
    parts = account_of_ranks(facts.history.ledger, parts, length);
  if (has_failed) parts[kUnfinishedPart] += std::exchange(parts[kUsefulPart], 0);
  std::vector<std::pair<std::string, double>> account;
  for (const char* part : kPartsInOrder)
    if (of(parts, part) > 0) account.emplace_back(part, of(parts, part));
  return account;
}

void rename_to_unfinished(Timeline& timeline) {
  for (TimelineRow& row : timeline.rows)
    for (TimelineBar& bar : row.bars)
      if (bar.part == kUsefulPart) bar.part = kUnfinishedPart;
}

std::uint64_t count_repeated_steps(const RunFacts& facts) {
  if (const api::JobTimeLedger* ledger = newest_ledger(facts);
      ledger != nullptr && ledger->newest_attempt.value() > 0)
    return ledger->repeated_step_count;
  const auto not_kept = static_cast<std::uint64_t>(
      std::ranges::count_if(facts.history.steps, [](const HistoryRow& row) { return !row.is_kept; }));
  std::uint64_t of_events = 0;
  for (const RunEvent& event : facts.events)
    if (event.kind == "recovery" && event.disruption) of_events += event.disruption->lost_steps;
  // Use the highest of the three counts, because each may be too low: a killed process loses its last second
  // of history.
  return std::max({not_kept, of_events, count_by_attempts(facts.history)});
}

std::set<std::uint64_t> known_attempts(const RunFacts& facts) {
  std::set<std::uint64_t> attempts = facts.history.attempts;
  attempts.insert(facts.uncommitted.begin(), facts.uncommitted.end());
  for (const HistoryRow& row : known_steps(facts.history)) attempts.insert(row.attempt);
  for (const RunEvent& event : facts.events)
    if (event.attempt > 0) attempts.insert(event.attempt);
  for (const auto& checkpoint : facts.checkpoints) attempts.insert(checkpoint.attempt);
  return attempts;
}

}  // namespace ratoon::cli
