// Draws how the operator divided a run's time into parts: useful, restarting, hung, ...
#pragma once

#include <string_view>
#include <vector>

#include "cli/report/report.h"

namespace ratoon::cli {

// Returns the job's time ledger as bars, from the changes of the ledger in events.jsonl. The bars of a part
// add up to the time in the job's status. `end` is the run's last known time. A run of an old version, whose
// events have no ledger, has no bars.
[[nodiscard]] std::vector<TimelineBar> ledger_bars(const std::vector<RunEvent>& events, double end);

// Returns the name of the part as in the ranks' ledger (docs/reference/history.md), such as "hung".
[[nodiscard]] std::string_view ledger_part_name(api::TimeLedgerPart part);

}  // namespace ratoon::cli
