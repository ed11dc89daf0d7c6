// AttemptHistory: the history of a run over all its attempts. If a later attempt resumed from a checkpoint,
// the steps after that checkpoint are not in the weights; a report still shows them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/src/history/line.h"

namespace ratoon::cli {

struct HistoryRow {
  double at = 0;  // seconds since 1970, by the system clock of the writer
  std::uint64_t attempt = 0;
  std::uint64_t step = 0;
  double value = 0;
  bool is_kept = false;  // it is in the lineage of the newest attempt
};

struct AttemptHistory {
  std::set<std::uint64_t> attempts;  // all attempts that left a file
  // The rows are in the order in which they were written: by attempt, and in the order of the attempt's file.
  // Their times need not ascend, because the system clock may go back.
  std::vector<HistoryRow> steps;                          // without value
  std::map<std::string, std::vector<HistoryRow>> values;  // reported values by name
  std::vector<HistoryRow> saves;                          // value: stall_seconds
  std::vector<HistoryRow> ledger_rows;   // at least one per save, also without reported values
  std::map<std::string, double> ledger;  // seconds by part, from the newest kept row
  std::vector<std::string> complaints;   // sentences about unreadable parts
};

// Returns the rows that tell when a step was reached, also for a trainer that reports no values.
[[nodiscard]] inline const std::vector<HistoryRow>& known_steps(const AttemptHistory& history) {
  return history.steps.empty() ? history.ledger_rows : history.steps;
}

struct AttemptFile {
  std::uint64_t attempt = 0;
  std::string text;
};

[[nodiscard]] AttemptHistory read_attempt_history(const std::vector<AttemptFile>& files);

}  // namespace ratoon::cli
