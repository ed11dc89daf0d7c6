// Computes how a run used its time, and what its losses cost. Counts by the operator have priority, because
// the job's status survives every process of the run.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/report/timeline.h"

namespace ratoon::cli {

// Returns the seconds of each part (useful, restarting, ...), in display order; their sum is `length`. The
// ranks' ledger splits the useful time into parts. A failed run's useful time counts as "unfinished".
[[nodiscard]] std::vector<std::pair<std::string, double>> make_account(const RunFacts& facts,
                                                                       const Timeline& timeline,
                                                                       double length, bool has_failed);

// Renames the useful time of a failed run to "unfinished".
void rename_to_unfinished(Timeline& timeline);

[[nodiscard]] std::uint64_t count_repeated_steps(const RunFacts& facts);

// Returns the numbers of all attempts of which the run left any trace.
[[nodiscard]] std::set<std::uint64_t> known_attempts(const RunFacts& facts);

}  // namespace ratoon::cli
