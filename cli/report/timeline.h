// Computes how a run and each of its members spent their time, from the run's events and
// history.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/report/report.h"

namespace ratoon::cli {

struct Timeline {
  std::vector<TimelineBar> run;  // without gaps from the first to the last moment
  bool is_from_ledger = false;   // its parts are those of the job's status
  std::vector<TimelineRow> rows;
  std::uint64_t member_count = 0;
};

// Returns the first and the last known time of a run, in seconds since 1970, or two zeros.
[[nodiscard]] std::pair<double, double> known_time_range(const RunFacts& facts);

[[nodiscard]] Timeline make_timeline(const RunFacts& facts);

using PartSeconds = std::map<std::string, double>;

[[nodiscard]] PartSeconds sum_by_part(const std::vector<TimelineBar>& run);

}  // namespace ratoon::cli
