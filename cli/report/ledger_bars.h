// The time of a run by part, as its operator counted it.
#pragma once

#include <vector>

#include "cli/report/report.h"

namespace ratoon::cli {

// The job's ledger as bars, from its changes in events.jsonl. The bars of a part are as long together as the
// ledger of the job's status says. `end` is the last known moment. Empty: an older runner wrote the events.
[[nodiscard]] std::vector<TimelineBar> ledger_bars(const std::vector<RunEvent>& events, double end);

}  // namespace ratoon::cli
