// Where the time of a run went, from its events and its history: for the run as a whole and for each member.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/report/report.h"

namespace ratoon::cli {

struct Timeline {
  std::vector<Bar> run;  // without gaps from the first to the last moment
  std::vector<Lane> lanes;
  std::uint64_t members_in_all = 0;
};

// The first and the last moment of which anything is known, in seconds since 1970; both 0 if nothing is.
[[nodiscard]] std::pair<double, double> known_time(const RunFacts& facts);

[[nodiscard]] Timeline make_timeline(const RunFacts& facts);

// Seconds by part of `run`, with the time that training waited for saves taken out of what was useful.
[[nodiscard]] std::vector<std::pair<std::string, double>> sum_up(const std::vector<Bar>& run,
                                                                 const std::vector<PastRow>& saves);

}  // namespace ratoon::cli
