// Finds the newest row of a kind in the history files of all attempts, even if no checkpoint's manifest
// records the row. Files are read from their end, so that the start of a run does not wait until a long
// history is read.
#pragma once

#include <optional>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/history/line.h"

namespace ratoon::history {

struct LastRow {
  Attempt attempt{0};
  Row row;
};

// Returns the last row of `kind` from the newest attempt that wrote one.
[[nodiscard]] Result<std::optional<LastRow>> find_last_row(const checkpoint::Disk& disk,
                                                           std::string_view kind);

// Searches the end of a history file for its last row of `kind`. The text may begin within a line, and may
// end with half a line or zeros after a power cut.
[[nodiscard]] std::optional<Row> last_row_in(std::string_view end_of_file, std::string_view kind);

}  // namespace ratoon::history
