// Joins the history of a run from the files of its attempts. Each attempt writes its own file, so that a
// process that still runs after its attempt has ended can damage only the file of that attempt. The first
// line of each file says how much of the previous attempt's file belongs to the run's history. The rows after
// this position are left out: they are rows of steps that the run repeats, because it resumed from an earlier
// checkpoint. The joined history therefore has each step exactly once.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/history/line.h"

namespace ratoon::history {

// A ReadFile returns the bytes of an attempt's history file.
using ReadFile = std::function<Result<std::string>(Attempt)>;
using Visit = std::function<void(Attempt, const Row&)>;

// Returns the size in bytes of the whole, readable lines at the beginning of `file`. Bytes after the last
// readable line are ignored: a killed process leaves half a line, and a power cut may leave any bytes after
// the synced part.
[[nodiscard]] std::uint64_t count_intact_bytes(std::string_view file);

// Calls `visit` with every row of the history up to `end`, in order. Returns an error if a file is shorter
// than the position that the checkpoint's manifest records.
[[nodiscard]] Result<void> join(const HistoryPosition& end, const ReadFile& read, const Visit& visit);

// Returns the current end of the newest attempt's history, even if no checkpoint records this position yet.
// If the first line of an attempt's file cannot be read, the attempt counts as having no rows. Returns
// nullopt if no attempt wrote a history.
[[nodiscard]] Result<std::optional<HistoryPosition>> newest_position(std::vector<Attempt> attempts,
                                                                     const ReadFile& read);

}  // namespace ratoon::history
