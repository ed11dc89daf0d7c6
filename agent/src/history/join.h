// The history of a run, put together from the files of its attempts. Each is written by one attempt alone and
// never cut, so a zombie of an older attempt can spoil none but its own. Which part of each counts, the next
// one's first line says: steps that were made after the checkpoint from which the run went on are left out,
// and so nothing is missing and nothing comes twice.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/history/line.h"

namespace ratoon::history {

// The bytes of an attempt's file.
using ReadFile = std::function<Result<std::string>(Attempt)>;
using Visit = std::function<void(Attempt, const Row&)>;

// How much of a file that may end anywhere is whole lines that can be read. A kill leaves half a line, a
// power cut may leave zeros or anything after what was synced; from there on nothing counts.
[[nodiscard]] std::uint64_t sound_bytes(std::string_view file);

// Every row up to `end`, in order. An error if bytes that a manifest vouched for are not there.
[[nodiscard]] Result<void> join(const Place& end, const ReadFile& read, const Visit& visit);

// The place where the newest of these attempts stands now, vouched for or not; attempts that left no sound
// first line left nothing. nullopt: there is no history.
[[nodiscard]] Result<std::optional<Place>> newest_place(std::vector<Attempt> attempts, const ReadFile& read);

}  // namespace ratoon::history
