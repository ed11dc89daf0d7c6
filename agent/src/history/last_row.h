// Finds the newest row of a kind in all attempts' files, even if no manifest records it. Files are read from
// their end, because a start must not wait until a long history is read.
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

// Searches the end of a history file for its last row of `kind`. The text may begin and end anywhere: a power
// cut leaves half lines and zeros.
[[nodiscard]] std::optional<Row> last_row_in(std::string_view end_of_file, std::string_view kind);

}  // namespace ratoon::history
