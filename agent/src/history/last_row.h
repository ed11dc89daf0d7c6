// The newest row of a kind that any attempt left, whether a manifest records it or not. Files are read from
// their end: a history may be long, and a start must not wait until all of it is read.
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

// The row of the newest attempt that has such a row.
[[nodiscard]] Result<std::optional<LastRow>> find_last_row(const checkpoint::Disk& disk,
                                                           std::string_view kind);

// Searches the end of a file. The searched text may begin and end anywhere: a power cut leaves half lines and
// zeros.
[[nodiscard]] std::optional<Row> last_row_in(std::string_view end_of_file, std::string_view kind);

}  // namespace ratoon::history
