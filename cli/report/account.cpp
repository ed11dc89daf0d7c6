#include "cli/report/account.h"

#include <algorithm>
#include <array>

namespace ratoon::cli {
namespace {

constexpr const char* kUseful = "useful";
constexpr const char* kUnfinished = "unfinished";
constexpr std::array kPartsInOrder = {
    kUseful,      kUnfinished, "recomputed", "save_stall",           "data_wait",
    "validation", "hung",      "suspended",  "waiting_for_capacity", "starting",
    "restarting", "ending",    "away"};
// Parts of the ranks' time ledger (docs/reference/history.md) that the operator counts as useful time.
constexpr std::array kWithinUseful = {"save_stall", "data_wait", "validation"};
// The parts of time that the ranks count; a row of their time ledger has other fields too.
constexpr std::array kOfRanks = {kUseful,      "recomputed",           "save_stall", "data_wait",
                                 "validation", "waiting_for_capacity", "restarting", "hung"};

double of(const PartSeconds& parts, const std::string& part) {
  const auto found = parts.find(part);
  return found == parts.end() ? 0 : found->second;
}

void take_from_useful(const std::string& part, double spent, PartSeconds& parts) {
  spent = std::clamp(spent, 0.0, of(parts, kUseful));
  parts[kUseful] -= spent;
  parts[part] += spent;
}

// Splits the useful time by the ranks' time ledger. For a run without an operator's time ledger, only the
// time of stalls by saves is known.
void split_useful(const RunFacts& facts, PartSeconds& parts) {
  for (const char* part : kWithinUseful) take_from_useful(part, of(facts.history.ledger, part), parts);
  if (!facts.history.ledger.empty()) return;
  double stall = 0;
  for (const HistoryRow& save : facts.history.saves) stall += save.value;
  take_from_useful("save_stall", stall, parts);
}

// Divides the time of a run without an operator's time ledger. The ranks' ledger begins with the start of the
// first rank, so the time before and after comes from the timeline.
PartSeconds of_ranks(const PartSeconds& ledger, const PartSeconds& drawn, double length) {
  PartSeconds parts;
  double rest = length;
  for (const char* part : kOfRanks) {
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
  for (const auto* rows : {&history.ledgers, &history.steps}) {
    for (const HistoryRow& row : *rows) {
      // The first row of a time ledger has the step from which the attempt began.
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

const api::JobLedger* newest_ledger(const RunFacts& facts) {
  if (facts.status) return &facts.status->ledger;
  const api::JobLedger* newest = nullptr;
  for (const RunEvent& event : facts.events)
    if (event.ledger) newest = &*event.ledger;
  return newest;
}

}  // namespace

std::vector<std::pair<std::string, double>> make_account(const RunFacts& facts, const Timeline& timeline,
                                                         double length, bool has_failed) {
  PartSeconds parts = sum_by_part(timeline.run);
  if (timeline.is_of_ledger || facts.history.ledger.empty())
    split_useful(facts, parts);
  else
    parts = of_ranks(facts.history.ledger, parts, length);
  if (has_failed) parts[kUnfinished] += std::exchange(parts[kUseful], 0);
  std::vector<std::pair<std::string, double>> account;
  for (const char* part : kPartsInOrder)
    if (of(parts, part) > 0) account.emplace_back(part, of(parts, part));
  return account;
}

void name_unfinished(Timeline& timeline) {
  for (TimelineRow& row : timeline.rows)
    for (TimelineBar& bar : row.bars)
      if (bar.part == kUseful) bar.part = kUnfinished;
}

std::uint64_t count_steps_made_again(const RunFacts& facts) {
  if (const api::JobLedger* ledger = newest_ledger(facts);
      ledger != nullptr && ledger->newest_attempt.value() > 0)
    return ledger->steps_made_again;
  const auto not_kept = static_cast<std::uint64_t>(
      std::ranges::count_if(facts.history.steps, [](const HistoryRow& row) { return !row.is_kept; }));
  std::uint64_t of_events = 0;
  for (const RunEvent& event : facts.events)
    if (event.kind == "recovery" && event.disruption) of_events += event.disruption->lost_steps;
  // Each of these counts may be too low, because a killed process loses its last second of history: use the
  // highest count.
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
