// How the time of a run was spent, from its events and its history: for the run as a whole and for each
// member.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/report/report.h"

namespace ratoon::cli {

struct Timeline {
  std::vector<TimelineBar> run;  // without gaps from the first to the last moment
  bool is_of_ledger = false;     // its parts are those of the job's status
  std::vector<TimelineRow> rows;
  std::uint64_t members_in_all = 0;
};

// The first and the last known time, in seconds since 1970; both are 0 if none is known.
[[nodiscard]] std::pair<double, double> known_time(const RunFacts& facts);

[[nodiscard]] Timeline make_timeline(const RunFacts& facts);

using PartSeconds = std::map<std::string, double>;

[[nodiscard]] PartSeconds sum_by_part(const std::vector<TimelineBar>& run);

}  // namespace ratoon::cli
