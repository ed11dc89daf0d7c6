// Joins the history of a run from the files of its attempts. Each file is written by one attempt alone and
// never cut, so a process that outlives its attempt can spoil only its own file. The first line of each file
// says which part of the previous attempt's file counts. Steps that were made after the checkpoint from which
// the run resumed are left out. The joined history therefore has each step exactly once.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/history/line.h"

namespace ratoon::history {

// Returns the bytes of an attempt's history file.
using ReadFile = std::function<Result<std::string>(Attempt)>;
using Visit = std::function<void(Attempt, const Row&)>;

// Returns how many bytes at the beginning of `file` are whole, readable lines. A killed writer leaves half a
// line, and a power cut may leave zeros or anything else after the synced part. Bytes after the last whole
// line of a file do not count.
[[nodiscard]] std::uint64_t sound_bytes(std::string_view file);

// Visits every row up to `end`, in order. Returns an error if bytes that a manifest records are missing.
[[nodiscard]] Result<void> join(const HistoryPosition& end, const ReadFile& read, const Visit& visit);

// Returns the current end of the newest attempt's history, even if no manifest records it. An attempt whose
// first line cannot be read counts as empty. Returns nullopt if there is no history.
[[nodiscard]] Result<std::optional<HistoryPosition>> newest_position(std::vector<Attempt> attempts,
                                                                     const ReadFile& read);

}  // namespace ratoon::history
