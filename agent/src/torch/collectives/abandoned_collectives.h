// Keeps the memory of abandoned collectives until they end. After a collective was abandoned, because a
// process was lost, a thread of its process group may still write into its buffers. In a process group of
// Ratoon, an abandoned sum ends within a moment. In a process group of the program, an abandoned sum ends
// only at the timeout of that group. An abandoned sum keeps its memory until it ends.
#pragma once

#include <functional>
#include <memory>

namespace ratoon {

// Keeps the object `work`, with all memory that it owns, until the function `is_over` returns true. Throws
// Failure if too many abandoned sums still run, so that a new process starts: their memory must be limited.
void retain(std::shared_ptr<void> work, std::function<bool()> is_over);

// Releases the memory of all abandoned collectives that have ended. Returns how many abandoned collectives
// still run.
std::size_t release_finished();

}  // namespace ratoon
