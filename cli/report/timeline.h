// How the time of a run was spent, from its events and its history: for the run as a whole and for each
// member.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/report/report.h"

namespace ratoon::cli {

struct Timeline {
  std::vector<TimelineBar> run;  // without gaps from the first to the last moment
  std::vector<TimelineRow> rows;
  std::uint64_t members_in_all = 0;
};

// The first and the last known time, in seconds since 1970; both are 0 if none is known.
[[nodiscard]] std::pair<double, double> known_time(const RunFacts& facts);

[[nodiscard]] Timeline make_timeline(const RunFacts& facts);

// Seconds by part of `run`. The time for which training waited for saves is moved from "useful" to
// "save_stall".
[[nodiscard]] std::vector<std::pair<std::string, double>> sum_by_part(const std::vector<TimelineBar>& run,
                                                                      const std::vector<HistoryRow>& saves);

}  // namespace ratoon::cli
