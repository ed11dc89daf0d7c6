// The account of a run: the use of its time, and the cost of its losses. The operator's counts come first,
// since the job's status survives every process of the run.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/report/timeline.h"

namespace ratoon::cli {

// Seconds by part, in the order in which they are shown; they sum to `length`. The ledger of the ranks splits
// the useful time further. Of a failed run no time is useful: it is "unfinished".
[[nodiscard]] std::vector<std::pair<std::string, double>> make_account(const RunFacts& facts,
                                                                       const Timeline& timeline,
                                                                       double length, bool has_failed);

// Renames the useful parts of a run that failed.
void name_unfinished(Timeline& timeline);

[[nodiscard]] std::uint64_t count_steps_made_again(const RunFacts& facts);

// All attempts that are known to have existed.
[[nodiscard]] std::set<std::uint64_t> known_attempts(const RunFacts& facts);

}  // namespace ratoon::cli
